"""Keep one Deployment for each Memcached."""

# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch;update;patch
# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=get;update;patch
# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
# +kubebuilder:rbac:groups=core,resources=pods,verbs=get;list;watch
# +kubebuilder:rbac:groups=core;events.k8s.io,resources=events,verbs=create;patch
