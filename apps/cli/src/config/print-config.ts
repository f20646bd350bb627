import { z } from 'zod';
import { count, printJson, printLines } from '../output.ts';
import { loadConfig } from './load-config.ts';
import { configSchema } from './schema.ts';

/** Prints the configuration's JSON Schema. */
export function printConfigSchema(): void {
  printLines(JSON.stringify(z.toJSONSchema(configSchema, { io: 'input' }), undefined, 2));
}

/** Says that a configuration is right, with what is in it; throws `bad_config` where it isn't. */
export function checkConfig(file: string, flags: { json?: boolean }): void {
  const config = loadConfig(file);
  const servers = Object.keys(config.mcpServers);
  const roles = Object.keys(config.roles);
  if (flags.json) {
    printJson({ ok: true, file, servers, roles, unlisted: config.unlisted });
    return;
  }
  printLines(
    `${file} is right: ${count(servers.length, 'MCP server')}, ${count(roles.length, 'role')}; ` +
      `roles without an entry may use ${config.unlisted === 'deny' ? 'no tools' : 'every tool'}.`,
  );
}
