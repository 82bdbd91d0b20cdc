module opm

go 1.26.0

require github.com/operator-framework/operator-registry v1.73.0
