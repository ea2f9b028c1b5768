# A Mamba-3 language model on the bytes of a small corpus, then a text from it, byte by byte from
# recurrent states. See ../run.sh.
. "frontend/examples/byte_lm/corpus.sh"
train=(--stream "bytes=@$out/train.npy" --epochs 1 --shuffle 7)
goal="loss < 2.3"
short_train=("${train[@]}" --steps 30)
short_goal="loss <= 3.3"
