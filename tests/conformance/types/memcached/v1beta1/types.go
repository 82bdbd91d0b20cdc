// Package v1beta1 is version v1beta1 of the group cache.example.com.
// +groupName=cache.example.com
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedSpec defines the desired state of Memcached.
type MemcachedSpec struct {
	// Number of Memcached pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +kubebuilder:default=1
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Port on which Memcached listens inside its container.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=11211
	// +optional
	Port int32 `json:"port,omitempty"`
}

// MemcachedPod is one of the pods that run Memcached.
type MemcachedPod struct {
	// Name of the pod.
	Name string `json:"name"`
}

// MemcachedStatus defines the observed state of Memcached.
type MemcachedStatus struct {
	// What is known about this Memcached: Available, Progressing and Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The pods that run Memcached, by name.
	// +listType=map
	// +listMapKey=name
	// +optional
	Pods []MemcachedPod `json:"pods,omitempty"`

	// The generation of the object that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// How many pods the Deployment has.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// How many of them are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// Which labels the pods have, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`
}

// Memcached is a cache that runs as a Deployment.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,v1,""},{Service,v1,""},{Pod,v1,""}}
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec MemcachedSpec `json:"spec"`
	// What there is.
	// +optional
	Status MemcachedStatus `json:"status,omitempty"`
}
