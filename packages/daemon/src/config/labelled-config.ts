import { hostAgent, SignalboxError } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import { defaultCallSizeLimits } from '@signalbox/serving';
import type { Config } from './config.ts';

/**
 * Returns the configuration with which the orchestrator of a label runs. It hosts the servers of the file that have its label, or all if the
 * file gives no server to a label: then the file is its own. Its only caller is the orchestrator without a label, which has the rules, so no
 * rule of the file is for it.
 */
export function labelledConfig(config: Config, label: string): Config {
  const isShared = Object.keys(config.hosts).length > 0;
  const { orchestrator, mcpServers, placed, capabilities, serverRepeat } = config;
  const ofLabel = Object.entries(placed).flatMap(([name, one]) =>
    one.label === label ? ([[name, one.server]] as const) : [],
  );
  const servers = isShared ? Object.fromEntries(ofLabel) : mcpServers;
  if (isShared && ofLabel.length === 0) {
    const named = Object.keys(config.hosts).join(', ');
    throw new SignalboxError(
      'bad_config',
      `no server of ${config.file ?? 'the configuration'} has host: ${label} and a command or url; it names ${named}${suggestion(label, Object.keys(config.hosts))}`,
      {
        details: {
          hint: `set host: ${label} in the entry of a server, or give this orchestrator a file of its own`,
        },
      },
    );
  }
  const calls = { ...defaultCallSizeLimits, ...orchestrator.limits.calls };
  const { host: _host, ...own } = orchestrator;
  return {
    ...config,
    mcpServers: servers,
    placed: {},
    hosts: {},
    serverRepeat: Object.fromEntries(Object.entries(serverRepeat).filter(([name]) => name in servers)),
    capabilities: isShared ? [] : capabilities,
    orchestrator: {
      ...own,
      id: hostAgent(label),
      budgets: {},
      // All its calls come from one agent.
      limits: {
        ...orchestrator.limits,
        calls: { ...calls, bytesPerWorker: calls.bytes, nodesPerWorker: calls.nodes },
      },
    },
    roles: { orchestrator: { tools: ['*'], prompts: ['*'], resources: ['*:*'] } },
    unlisted: 'deny',
    unlistedByDefault: false,
  };
}
