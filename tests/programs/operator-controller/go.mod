module operator-controller

go 1.26.0

require github.com/operator-framework/operator-controller v1.2.0
