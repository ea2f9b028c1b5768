# Sourced by the example.sh of every byte-level language model: the corpus, and a text at the end.
# The first 49,152 bytes are for training, the other 5,523 are held out. A model whose `length`
# differs from 64 sets it before.
programs+=(byte_lm)
length=${length:-64}

prepare() {
  show "$bin/byte_lm" windows "$data/founding_documents.txt" --end 49152 \
    --length $((length + 1)) --stride 16 -o "$out/train.npy"
  show "$bin/byte_lm" windows "$data/founding_documents.txt" --begin 49152 \
    --length $((length + 1)) --stride "$length" -o "$out/held_out.npy"
}

finish() {
  step "generate: a text through the saved inference graph"
  show "$bin/byte_lm" generate "$out/${name}_generate.oax" --params "$out/$name.safetensors" \
    ${device[@]+"${device[@]}"}
}

held_out=(--stream "bytes=@$out/held_out.npy")
