# As ../mamba3 with multi-input scans of rank 4. See ../run.sh.
. "frontend/examples/byte_lm/corpus.sh"
train=(--stream "bytes=@$out/train.npy" --epochs 1 --shuffle 7)
goal="loss < 2.3"
short_train=("${train[@]}" --steps 25)
short_goal="loss <= 3.5"
