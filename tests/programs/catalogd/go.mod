module catalogd

go 1.26.0

require github.com/operator-framework/operator-controller v1.11.0
