import { Command } from 'commander';
import { timeOption, withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';
import type { TokenFlags, TokenIssueFlags } from '../token/token.ts';

/** Defines `signalbox token issue|list|revoke`. */
export function tokenCommand(): Command {
  const command = new Command('token').description(
    'Issue, list and revoke the tokens that agents connect with.',
  );
  withExamples(command, 'signalbox token issue --agent researcher-1 --role researcher --data ./state');
  for (const child of [issueCommand(), listCommand(), revokeCommand()]) command.addCommand(child);
  return command;
}

function issueCommand(): Command {
  const command = new Command('issue')
    .description('Issue a token for one agent. It is shown once and kept only as a hash.')
    .requiredOption(
      '--agent <name>',
      "agent id it is for; a pattern such as 'ci-*' makes a token that can only mint",
    )
    .requiredOption('--role <role>', 'role the agent acts in; decides its tools')
    .addOption(timeOption('--ttl <time>', 'how long it is valid, as in 8h; without it until revoked'))
    .option('--out <file>', 'write it to this file (0600) instead of printing it')
    .option('--force', 'let --out replace an existing file')
    .option('--url <url>', 'the broker, as in ws://127.0.0.1:7420 (or SIGNALBOX_URL)')
    .option(
      '--token-file <file>',
      'file that holds the operator’s (or a minting) token (or SIGNALBOX_TOKEN_FILE)',
    )
    .option('--config <file>', 'find broker and operator token through this signalbox.yaml')
    .option('--data <dir>', 'find broker and operator token in this data directory');
  withExamples(
    withJsonOption(command),
    'signalbox token issue --agent researcher-1 --role researcher --ttl 8h --out researcher.token --data ./state',
  );
  return command.action(async (flags: TokenIssueFlags) => {
    const { runTokenIssue } = await import('../token/token.ts');
    await runTokenIssue(flags);
  });
}

function listCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description('List valid tokens, without their secrets.'),
  );
  withExamples(withJsonOption(command), 'signalbox token list --config signalbox.yaml');
  return command.action(async (flags: TokenFlags) => {
    const { runTokenList } = await import('../token/token.ts');
    await runTokenList(flags);
  });
}

function revokeCommand(): Command {
  const command = withConnectionOptions(
    new Command('revoke')
      .description('Revoke a token; connections with it are closed within a second.')
      .argument('<id>', 'id of the token, as token list shows it'),
  );
  withExamples(withJsonOption(command), 'signalbox token revoke V1StGXR8Z5 --config signalbox.yaml');
  return command.action(async (id: string, flags: TokenFlags) => {
    const { runTokenRevoke } = await import('../token/token.ts');
    await runTokenRevoke(id, flags);
  });
}
