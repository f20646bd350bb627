import { join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { hookTimeoutMs, type Inject, jsonFile, serverName, toolTimeoutMs } from './injection.ts';
import { optionValues } from './option-values.ts';

const variable = 'QWEN_CODE_SYSTEM_DEFAULTS_PATH';

/** Makes Qwen Code list our tools to the model from the start, and wait for their calls: otherwise they are behind its search for tools. */
export const qwenLoading = { timeout: toolTimeoutMs, alwaysLoadTools: true } as const;

/**
 * Names our MCP server in a file on the command line, and the hooks for new mail in a file that a variable puts in place of the machine's
 * default settings. Qwen Code adds both to the user's own. A turn fails when its model refuses: by itself Qwen Code would wait for up to
 * 42 minutes.
 */
export const injectQwen: Inject = ([program = '', ...rest], context) => {
  const { faceCommand, runDirectory, env, mailHook, isTurn, systemSettings } = context;
  if (optionValues(rest, '--mcp-config').length > 0) throw secondConfig();
  const path = join(runDirectory, 'mcp.json');
  const servers = { mcpServers: { [serverName]: { ...faceCommand, ...qwenLoading, trust: true } } };
  const taken = env[variable]
    ? `${variable} is set already`
    : systemSettings?.qwen && `this machine has ${systemSettings.qwen}`;
  const settings = join(runDirectory, 'settings.json');
  const defaults = {
    ...(mailHook !== undefined && { hooks: mailHooks(mailHook) }),
    ...(isTurn && { model: { generationConfig: { maxRetries: 0 } } }),
  };
  const hasDefaults = Object.keys(defaults).length > 0 && !taken;
  return {
    argv: [program, `--mcp-config=${path}`, ...rest],
    env: hasDefaults ? { [variable]: settings } : {},
    files: [jsonFile(path, servers), ...(hasDefaults ? [jsonFile(settings, defaults)] : [])],
    notes: [
      "qwen's own MCP servers stay",
      'qwen starts MCP servers only in folders that it trusts, if its settings turn trusted folders on',
      ...(mailHook !== undefined && taken ? [`${taken}: no hook tells qwen of new mail`] : []),
      ...(isTurn && taken ? [`${taken}: qwen may wait long for a model that refuses`] : []),
    ],
  };
};

/** Returns the hooks before each request to the model and at the end of a turn. */
function mailHooks(command: string) {
  const hook = { type: 'command', name: `${serverName}-mail`, command, timeout: hookTimeoutMs / 1000 };
  return { UserPromptSubmit: [{ hooks: [hook] }], Stop: [{ hooks: [hook] }] };
}

function secondConfig(): SignalboxError {
  return new SignalboxError('usage', 'qwen takes one --mcp-config, and ours is one', {
    details: { hint: 'put your servers into .qwen/settings.json of the working directory' },
  });
}
