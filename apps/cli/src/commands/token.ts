import { operationPermissions } from '@signalbox/protocol/permissions';
import { Command, Option } from 'commander';
import {
  lifetimeOption,
  listOption,
  roleOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { TokenFlags, TokenIssueFlags, TokenRevokeFlags } from '../token/token.ts';

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
  const command = withConnectionOptions(
    new Command('issue').description(
      'Issue a token for one agent, or for an operator. It is shown once and kept only as a hash.',
    ),
    {
      agent: false,
      tokenFile: 'file that holds the operator’s (or a minting) token (or SIGNALBOX_TOKEN_FILE)',
    },
  )
    .option('--agent <name>', "agent id it is for; a pattern such as 'ci-*' makes a token that can only mint")
    .option('--role <role>', 'role the agent acts in; decides its tools', roleOption)
    .addOption(
      new Option(
        '--roles <list>',
        'with a pattern: the roles that the tokens it makes may have, as in tester,writer; default that of --role',
      ).argParser(listOption),
    )
    .addOption(
      new Option(
        '--approves <list>',
        "with --agent: roles on whose tool calls it decides, or patterns, as in builder,'ci-*'",
      ).argParser(listOption),
    )
    .option(
      '--operator',
      'instead of --agent and --role: a token for a person or program that operates this broker',
    )
    .option(
      '--host <label>',
      'instead of --agent and --role: a token for an orchestrator with this label, which serves nothing else',
    )
    .option('--name <name>', 'with --operator: whose it is, as in alice; it acts as the agent operator.alice')
    .addOption(
      new Option(
        '--permissions <permission>',
        'with --operator: operator does everything, observer only looks',
      )
        .choices(['operator', 'observer'])
        .default('operator'),
    )
    .option('--read-bodies', 'with --permissions observer: it also reads what agents wrote to each other')
    .addOption(
      new Option(
        '--ttl, --expires <time>',
        'how long it is valid, as in 8h, or never; default 30d for agents, never for operators and orchestrators',
      ).argParser(lifetimeOption),
    )
    .option('--out <file>', 'write it and the broker’s address to this file (0600) instead of printing it')
    .option('--force', 'let --out replace an existing file');
  withExamples(
    withJsonOption(command),
    'signalbox token issue --agent researcher-1 --role researcher --ttl 8h --out researcher.token --data ./state',
    "signalbox token issue --agent 'ci-*' --roles tester,writer --out ci.token --data ./state",
    'signalbox token issue --agent chat-bridge --role bridge --approves builder --out bridge.token --data ./state',
    'signalbox token issue --operator --name alice --ttl 30d --out alice.token --data ./state',
    'signalbox token issue --host gpu --out gpu.token --data ./state',
    'signalbox token issue --operator --name metrics --permissions observer --out metrics.token --data ./state',
  );
  command.addHelpText('after', `\nAn observer may ask for: ${observedOps()}.`);
  return command.action(async (flags: TokenIssueFlags) => {
    const { runTokenIssue } = await import('../token/token.ts');
    await runTokenIssue(flags);
  });
}

/** Lists what an observer may ask for, as operations of the protocol are called. */
function observedOps(): string {
  const { admin, request, frame, http } = operationPermissions;
  const all = Object.entries<readonly string[]>({ ...admin, ...request, ...frame, ...http });
  return all.flatMap(([op, needs]) => (needs.includes('observer') ? [op] : [])).join(', ');
}

function listCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description('List tokens without their secrets, and say which have to be renewed.'),
  );
  withExamples(withJsonOption(command), 'signalbox token list');
  return command.action(async (flags: TokenFlags) => {
    const { runTokenList } = await import('../token/token.ts');
    await runTokenList(flags);
  });
}

function revokeCommand(): Command {
  const command = withConnectionOptions(
    new Command('revoke')
      .description('Revoke a token, or all of an agent; connections with them are closed within a second.')
      .argument('[id]', 'id of the token, as token list shows it'),
    { agent: false },
  ).option('--agent <agent>', "instead of an id: all tokens of this agent, or of a pattern such as 'ci-*'");
  withExamples(
    withJsonOption(command),
    'signalbox token revoke V1StGXR8Z5',
    'signalbox token revoke --agent researcher-1',
  );
  return command.action(async (id: string | undefined, flags: TokenRevokeFlags) => {
    const { runTokenRevoke } = await import('../token/token.ts');
    await runTokenRevoke(id, flags);
  });
}
