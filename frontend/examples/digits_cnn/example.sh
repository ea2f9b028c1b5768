# Convolution, batch norm and pooling: at least 97% of the 360 held-out images. See ../run.sh.
. "frontend/examples/common/digits.sh"
train+=(--epochs 8)
goal="correct >= 350"
short_train=("${train[@]}" --steps 120)
short_goal="correct >= 320"
