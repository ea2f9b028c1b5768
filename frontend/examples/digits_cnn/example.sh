# Convolution, batch norm and pooling: at least 97% of the 360 held-out images. See ../run.sh.
train=(--stream "images=@$data/digits_images.npy[0:1437]"
       --stream "labels=@$data/digits_labels.npy[0:1437]" --epochs 8 --shuffle 7)
held_out=(--stream "images=@$data/digits_images.npy[1437:1797]"
          --stream "labels=@$data/digits_labels.npy[1437:1797]")
goal="correct >= 350"
short_train=("${train[@]}" --steps 120)
short_goal="correct >= 320"
