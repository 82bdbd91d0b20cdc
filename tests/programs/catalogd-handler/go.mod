// Below the path of operator-controller, so that its internal packages may be imported.
module github.com/operator-framework/operator-controller/reference

go 1.26.0

require (
	github.com/klauspost/compress v1.19.0
	github.com/operator-framework/operator-controller v1.11.0
)
