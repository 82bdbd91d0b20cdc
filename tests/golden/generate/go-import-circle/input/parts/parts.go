package parts

import v1 "example.com/toys/api/v1"

type Part struct {
	Name string `json:"name"`
}

var _ v1.Toy
