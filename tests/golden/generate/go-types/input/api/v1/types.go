// +groupName=forms.example.com
package v1

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	. "example.com/toys/api/dots"
	other "example.com/toys/api/named"
)

// Text is a named string.
// +kubebuilder:validation:MaxLength=20
type Text string

// Longer is built on Text.
// +kubebuilder:validation:MinLength=2
type Longer Text

// Short is an alias of a basic type.
type Short = string

// Same is an alias of a struct.
type Same = Inner

// Texts is a named list.
type Texts []Text

// Table is a named map.
type Table map[Text]Inner

type (
	// Grouped stands in parentheses.
	Grouped int32

	// Inner is a struct.
	Inner struct {
		// A is a field.
		A string `json:"a"`
	}
)

// Own writes itself as text.
type Own struct{ hidden int }

// MarshalText does it.
func (o Own) MarshalText() ([]byte, error) { return nil, nil }

// Base is embedded.
type Base struct {
	FromBase string `json:"fromBase"`
}

// FormSpec has a field of each form.
type FormSpec struct {
	Base  `json:",inline"`
	Inner `json:"named"`

	Bool    bool    `json:"bool"`
	String  string  `json:"string"`
	Int     int     `json:"int"`
	Int8    int8    `json:"int8"`
	Int32   int32   `json:"int32"`
	Uint64  uint64  `json:"uint64"`
	Rune    rune    `json:"rune"`
	Pointer *string `json:"pointer"`
	Bytes   []byte  `json:"bytes"`
	Fixed   [4]byte `json:"fixed"`

	List   [][]string                   `json:"list"`
	Map    map[string]map[string]*Inner `json:"map"`
	Text   Text                         `json:"text"`
	Longer Longer                       `json:"longer"`
	Short  Short                        `json:"short"`
	Same   Same                         `json:"same"`
	Texts  Texts                        `json:"texts"`
	Table  Table                        `json:"table"`
	Group  Grouped                      `json:"group"`
	Own    Own                          `json:"own"`
	Dot    Dot                          `json:"dot"`
	Other  other.Other                  `json:"other"`

	Duration time.Duration             `json:"duration"`
	Time     metav1.Time               `json:"time"`
	Micro    metav1.MicroTime          `json:"micro"`
	Period   metav1.Duration           `json:"period"`
	Meta     metav1.ObjectMeta         `json:"meta"`
	Selector *metav1.LabelSelector     `json:"selector"`
	Quantity resource.Quantity         `json:"quantity"`
	Port     intstr.IntOrString        `json:"port"`
	Raw      runtime.RawExtension      `json:"raw"`
	Key      *corev1.SecretKeySelector `json:"key"`

	First, Second string `json:"both"`
	Ignored       string `json:"-"`
	Dash          string `json:"-,"`
	Optional      string `json:"optional,omitempty"`
	Zero          Inner  `json:"zero,omitzero"`
}

// Form is the kind.
type Form struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec FormSpec `json:"spec"`
}
