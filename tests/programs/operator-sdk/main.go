// The commands of operator-sdk beside which ours is compared: its own program needs a
// plugin module that cannot be had, and these do without it.
package main

import (
	"github.com/operator-framework/operator-sdk/internal/cmd/operator-sdk/bundle"
	"github.com/operator-framework/operator-sdk/internal/cmd/operator-sdk/generate"
	"github.com/operator-framework/operator-sdk/internal/flags"
	"github.com/operator-framework/operator-sdk/internal/plugins"
	helmv1 "github.com/operator-framework/operator-sdk/internal/plugins/helm/v1"
	manifestsv2 "github.com/operator-framework/operator-sdk/internal/plugins/manifests/v2"
	scorecardv2 "github.com/operator-framework/operator-sdk/internal/plugins/scorecard/v2"
	log "github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"sigs.k8s.io/kubebuilder/v4/pkg/cli"
	cfgv3 "sigs.k8s.io/kubebuilder/v4/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v4/pkg/model/stage"
	"sigs.k8s.io/kubebuilder/v4/pkg/plugin"
	kustomizev2 "sigs.k8s.io/kubebuilder/v4/pkg/plugins/common/kustomize/v2"
	"sigs.k8s.io/kubebuilder/v4/pkg/plugins/golang"
	deployimagev1 "sigs.k8s.io/kubebuilder/v4/pkg/plugins/golang/deploy-image/v1alpha1"
	golangv4 "sigs.k8s.io/kubebuilder/v4/pkg/plugins/golang/v4"
)

func bundleOf(name string, version plugin.Version, parts ...plugin.Plugin) plugin.Plugin {
	made, err := plugin.NewBundleWithOptions(
		plugin.WithName(name), plugin.WithVersion(version), plugin.WithPlugins(parts...))
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func main() {
	first := plugin.Version{Number: 1}
	goV4 := bundleOf(golang.DefaultNameQualifier, golangv4.Plugin{}.Version(),
		kustomizev2.Plugin{}, golangv4.Plugin{}, manifestsv2.Plugin{}, scorecardv2.Plugin{})
	helm := bundleOf("helm"+plugins.DefaultNameQualifier, first,
		kustomizev2.Plugin{}, helmv1.Plugin{}, manifestsv2.Plugin{}, scorecardv2.Plugin{})
	deployImage := bundleOf("deploy-image."+golang.DefaultNameQualifier,
		plugin.Version{Number: 1, Stage: stage.Alpha}, deployimagev1.Plugin{}, manifestsv2.Plugin{})

	commands := []*cobra.Command{bundle.NewCmd(), generate.NewCmd()}
	program, err := cli.New(
		cli.WithCommandName("operator-sdk"),
		cli.WithPlugins(goV4, helm, deployImage),
		cli.WithDefaultPlugins(cfgv3.Version, goV4),
		cli.WithDefaultProjectVersion(cfgv3.Version),
		cli.WithExtraCommands(commands...),
	)
	if err != nil {
		log.Fatal(err)
	}
	commands[0].Root().PersistentFlags().Bool(flags.VerboseOpt, false, "tell more")
	if err := program.Run(); err != nil {
		log.Fatal(err)
	}
}
