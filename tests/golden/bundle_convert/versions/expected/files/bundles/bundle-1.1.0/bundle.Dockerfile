FROM scratch

# What OLM and catalogs read.
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=cog
LABEL operators.operatorframework.io.bundle.channels.v1=stable,fast
LABEL operators.operatorframework.io.bundle.channel.default.v1=stable

# The files, where the labels say they are.
COPY bundle/manifests /manifests/
COPY bundle/metadata /metadata/
