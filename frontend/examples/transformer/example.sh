# A sparse Transformer on the bytes of a small corpus, then a text from it. See ../run.sh.
. "frontend/examples/byte_lm/corpus.sh"
train=(--stream "bytes=@$out/train.npy" --epochs 2 --shuffle 7)
goal="loss < 2.3"
short_train=("${train[@]}" --steps 40)
short_goal="loss <= 2.8"
