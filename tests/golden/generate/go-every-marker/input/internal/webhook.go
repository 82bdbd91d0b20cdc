package internal

// +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get;list
// +kubebuilder:rbac:urls=/metrics,verbs=get
// +kubebuilder:rbac:groups=core,resources=secrets,resourceNames=one;two,verbs=get,namespace=toys,roleName=keeper

// +kubebuilder:webhookconfiguration:mutating=true,name=toy-mutation
// +kubebuilder:webhook:path=/mutate,mutating=true,failurePolicy=fail,sideEffects=None,groups=toys.example.com,resources=toys,verbs=create;update,versions=v1,name=m.kb.io,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,timeoutSeconds=5
// +kubebuilder:webhook:url="https://example.com/check",mutating=false,failurePolicy=ignore,matchPolicy=Exact,sideEffects=NoneOnDryRun,groups=toys.example.com,resources=toys,verbs=delete,versions=v1,name=v.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/late,mutating=false,failurePolicy=fail,sideEffects=None,groups=core,resources=pods,verbs=create,versions=v1,name=w.kb.io,admissionReviewVersions=v1,serviceName=late,serviceNamespace=toys,servicePort=8443,patch=`{"namespaceSelector":{"matchLabels":{"toys":"yes"}}}`
