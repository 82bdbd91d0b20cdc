module cosign3

go 1.26.0

require github.com/sigstore/cosign/v3 v3.1.3
