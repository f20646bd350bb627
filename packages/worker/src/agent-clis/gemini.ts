import { join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { hookTimeoutMs, type Inject, jsonFile, serverName, toolTimeoutMs } from './injection.ts';
import { optionValues } from './option-values.ts';

const variable = 'GEMINI_CLI_SYSTEM_SETTINGS_PATH';
const trustVariable = 'GEMINI_CLI_TRUST_WORKSPACE';

/** Names our server in a settings file, which a variable puts in place of the machine's system settings. */
export const injectGemini: Inject = (argv, { faceCommand, runDirectory, env, mailHook, systemSettings }) => {
  if (env[variable]) throw alreadySet(`${variable} is set already`);
  const present = systemSettings?.gemini;
  if (present !== undefined) throw alreadySet(`this machine has system settings in ${present}`);
  const path = join(runDirectory, 'settings.json');
  const settings = {
    mcpServers: { [serverName]: { ...faceCommand, timeout: toolTimeoutMs, trust: true } },
    ...(mailHook !== undefined && { hooks: mailHooks(mailHook) }),
  };
  return {
    argv: [...argv],
    env: { [variable]: path },
    files: [jsonFile(path, settings)],
    notes: ["gemini's own MCP servers stay", ...trustNotes(argv, env)],
  };
};

/** Says what becomes of MCP servers in a folder that gemini may not trust. Seen with 0.61. */
function trustNotes([, ...words]: readonly string[], env: NodeJS.ProcessEnv): string[] {
  if (env[trustVariable] === 'true') return [];
  if (optionValues(words, '--skip-trust').length > 0)
    return [
      `with --skip-trust gemini does not read the settings of this folder; with ${trustVariable}=true in its place it does`,
    ];
  return [
    'gemini starts MCP servers, ours too, only in folders that it trusts, and without a terminal it ends in any other: trust this ' +
      'folder in gemini, or give it --skip-trust',
  ];
}

/** Returns the hooks before a turn and at its end. Gemini CLI adds them to the user's own. */
function mailHooks(command: string) {
  const hook = { type: 'command', name: `${serverName}-mail`, command, timeout: hookTimeoutMs };
  return { BeforeAgent: [{ hooks: [hook] }], AfterAgent: [{ hooks: [hook] }] };
}

function alreadySet(what: string): SignalboxError {
  return new SignalboxError('usage', `${what}, and ours would replace it`, {
    details: {
      hint: 'add the server there (signalbox worker config --client gemini prints it), then run with --no-inject',
    },
  });
}
