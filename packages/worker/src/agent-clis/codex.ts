import { isJsonObject } from '@signalbox/protocol';
import { stringify } from 'smol-toml';
import { type Inject, serverName, startTimeoutMs, toolTimeoutMs } from './injection.ts';

/**
 * Names our server by options `-c key=value`, the value in TOML. Codex passes its MCP servers few variables besides those that are named
 * here.
 */
export const injectCodex: Inject = ([program = '', ...rest], { faceCommand }) => {
  const settings: [string, unknown][] = [
    ['command', faceCommand.command],
    ['args', faceCommand.args],
    ['env', faceCommand.env],
    ['required', true],
    ['startup_timeout_sec', startTimeoutMs / 1000],
    ['tool_timeout_sec', toolTimeoutMs / 1000],
    ['default_tools_approval_mode', 'approve'],
  ];
  const options = settings.flatMap(([key, value]) => [
    '-c',
    `mcp_servers.${serverName}.${key}=${tomlValue(value)}`,
  ]);
  return {
    argv: [program, ...options, ...rest],
    env: {},
    files: [],
    notes: ["codex's own MCP servers stay: it has no option to leave them out"],
  };
};

/** Writes a TOML value on one line. */
function tomlValue(value: unknown): string {
  if (isJsonObject(value)) {
    const pairs = Object.entries(value).map(([key, item]) => `${tomlKey(key)} = ${tomlValue(item)}`);
    return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
  }
  return stringify({ value }).trim().slice('value = '.length);
}

function tomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : tomlValue(key);
}
