module example.com/toys

go 1.26.0

require (
	k8s.io/api v0.37.0
	k8s.io/apimachinery v0.37.0
)
