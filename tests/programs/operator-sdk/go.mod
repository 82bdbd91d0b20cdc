// Below the path of operator-sdk, so that its internal packages may be imported.
module github.com/operator-framework/operator-sdk/reference

go 1.26.3

require (
	github.com/operator-framework/operator-sdk v1.42.3
	sigs.k8s.io/kubebuilder/v4 v4.6.0
)
