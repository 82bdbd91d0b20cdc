module example.com/toy

go 1.24

require k8s.io/apimachinery v0.20.5
