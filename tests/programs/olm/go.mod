module olm

go 1.26.0

require github.com/operator-framework/operator-lifecycle-manager v0.46.0
