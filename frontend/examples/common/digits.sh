# Sourced by the example.sh of every classifier of digits: the first 1,437 images are for training, the
# other 360 are held out.
train=(--stream "images=@$data/digits_images.npy[0:1437]"
       --stream "labels=@$data/digits_labels.npy[0:1437]" --shuffle 7)
held_out=(--stream "images=@$data/digits_images.npy[1437:1797]"
          --stream "labels=@$data/digits_labels.npy[1437:1797]")
