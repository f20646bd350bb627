import { type Config, configJsonSchema, loadConfig } from '@signalbox/config';
import { visible } from '@signalbox/protocol';
import { count, printJson, printLines, tableLines } from '../terminal/output.ts';

/** Prints the configuration's JSON Schema. */
export async function printConfigSchema(): Promise<void> {
  printLines(JSON.stringify(await configJsonSchema(), undefined, 2));
}

/** Prints that a configuration is right, and a summary of it. Rejects with `bad_config` if it is wrong. */
export async function checkConfig(file: string, flags: { json?: boolean }): Promise<void> {
  const config = await loadConfig(file);
  if (Object.keys(config.serverRepeat).length > 0) {
    // It loads the MCP host, which takes its time.
    const { checkPolicy } = await import('@signalbox/daemon/orchestrator');
    checkPolicy(config);
  }
  const { origins, unlisted, capabilities, warnings } = config;
  const servers = Object.keys(config.mcpServers);
  const roles = Object.keys(config.roles);
  if (flags.json) {
    printJson({ ok: true, file, servers, origins, capabilities, roles, unlisted, warnings });
    return;
  }
  printLines(
    `${file} is right: ${count(servers.length, 'MCP server')}, ${count(roles.length, 'role')}; ` +
      `roles without an entry may use ${unlisted === 'deny' ? 'no tools' : 'every tool'}.`,
    ...mergedLines(config, file),
    ...(capabilities.length > 0 ? ['', 'Capability files:', ...capabilities.map((path) => `  ${path}`)] : []),
  );
  for (const warning of warnings) process.stderr.write(`${visible(`warning: ${warning}`)}\n`);
}

/** Lists the file of each server, if there is more than one file. */
function mergedLines({ origins, mcpServers }: Config, file: string): string[] {
  const rows = Object.entries(origins).map(([name, origin]) => [
    name,
    mcpServers[name]?.disabled ? `${mcpServers[name].type}, disabled` : (mcpServers[name]?.type ?? ''),
    origin.file,
    origin.replaces.join(', ') || '-',
  ]);
  if (Object.values(origins).every((origin) => origin.file === file)) return [];
  return ['', ...tableLines(['SERVER', 'TYPE', 'FROM', 'REPLACES'], rows)];
}
