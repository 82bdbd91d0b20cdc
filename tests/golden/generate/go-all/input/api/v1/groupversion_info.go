// Package v1 holds the toys.
// +kubebuilder:object:generate=true
// +groupName=toys.example.com
package v1
