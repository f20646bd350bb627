import { Argument, Command } from 'commander';
import { withExamples, withJsonOption } from '../command-options.ts';
import type { Shell } from '../completion/completion.ts';

const shells: readonly Shell[] = ['bash', 'zsh', 'fish'];

/** Defines `signalbox completion bash|zsh|fish`. `createProgram` makes the program with all its commands. */
export function completionCommand(createProgram: () => Promise<Command>): Command {
  const command = new Command('completion')
    .description('Print the script with which a shell completes commands, options and their values.')
    .addArgument(new Argument('<shell>', 'the shell that you use').choices(shells))
    .addHelpText('after', installing);
  withExamples(
    withJsonOption(command),
    'signalbox completion bash > ~/.local/share/bash-completion/completions/signalbox',
  );
  return command.action(async (shell: Shell, flags: { json?: boolean }) => {
    const { completionFor } = await import('../completion/completion.ts');
    const script = completionFor(shell, await createProgram());
    process.stdout.write(
      flags.json
        ? `${JSON.stringify({ shell, script })}
`
        : script,
    );
  });
}

const installing = `
To have it in every new shell:
  bash  mkdir -p ~/.local/share/bash-completion/completions
        signalbox completion bash > ~/.local/share/bash-completion/completions/signalbox
        (this needs the package bash-completion; without it: echo 'source <(signalbox completion bash)' >> ~/.bashrc)
  zsh   echo 'source <(signalbox completion zsh)' >> ~/.zshrc     (below the line with compinit)
  fish  signalbox completion fish > ~/.config/fish/completions/signalbox.fish
A file is quicker than a line that starts signalbox in each shell. Write it again after an update.`;
