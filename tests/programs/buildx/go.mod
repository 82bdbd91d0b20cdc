module buildx

go 1.26.0

require github.com/docker/buildx v0.24.0
