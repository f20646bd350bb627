import { join } from 'node:path';
import { permissionToolName } from '../permissions/permission-tool.ts';
import { asObject } from './commented-json.ts';
import {
  hookTimeoutMs,
  type Inject,
  jsonFile,
  permissionToolTimeoutMs,
  serverName,
  wakeTimeoutMs,
} from './injection.ts';
import { optionValues, withoutOption } from './option-values.ts';

/** Makes Claude Code list our tools to the model from the start: otherwise they can be hidden behind its search for tools. */
export const claudeLoading = { alwaysLoad: true } as const;

const permissionTool = `mcp__${serverName}__${permissionToolName}`;
/**
 * The mode in which Claude Code asks our tool, unless the user names one. Its settings may name another mode, and its own default is one in
 * which a model decides in place of a person (seen with 2.1.332).
 */
const askingMode = 'default';

/**
 * Claude's settings that close the modes in which it asks nobody. Without them, a file of the project can give a subagent such a mode (seen
 * with 2.1.332).
 */
export const closedModes = { disableAutoMode: 'disable', disableBypassPermissionsMode: 'disable' } as const;

/**
 * Makes Claude Code ask our tool. It hides that tool from its main model by itself, but from subagents' models only if it is disallowed.
 */
const permissionOptions = [
  `--permission-prompt-tool=${permissionTool}`,
  `--disallowedTools=${permissionTool}`,
];

/**
 * Names our MCP server in a file of MCP servers, and the hooks for new mail in a file of settings. Both files are named on the command
 * line; Claude Code adds the hooks to the user's own.
 */
export const injectClaude: Inject = (
  [program = '', ...rest],
  { faceCommand, runDirectory, keepMcp, settingsToAsk, mailHook, wakeHook },
) => {
  const path = join(runDirectory, 'mcp.json');
  // A timeout of the entry takes precedence over one that the user has set for all calls.
  const asks = settingsToAsk !== undefined;
  const patience = asks && { timeout: permissionToolTimeoutMs };
  const entry = { type: 'stdio', ...faceCommand, ...claudeLoading, ...patience };
  const servers = { mcpServers: { [serverName]: entry } };
  // It takes one file of settings, and the user's own file has priority.
  const hasSettings = optionValues(rest, '--settings').length > 0;
  const [ownMode] = optionValues(rest, '--permission-mode');
  const hooks = hooksOf(mailHook, wakeHook);
  const settings = {
    ...(asks && {
      ...settingsToAsk,
      permissions: { ...asObject(settingsToAsk.permissions), ...closedModes },
    }),
    ...(hooks && !hasSettings && { hooks }),
  };
  const hasOurs = Object.keys(settings).length > 0;
  const settingsPath = join(runDirectory, 'settings.json');
  // These options take any number of values: only written with "=" do they leave the prompt behind them alone.
  const options = [
    `--mcp-config=${path}`,
    `--allowedTools=mcp__${serverName}`,
    ...(asks ? [...permissionOptions, `--permission-mode=${ownMode ?? askingMode}`] : []),
    ...(keepMcp ? [] : ['--strict-mcp-config']),
    ...(hasOurs ? [`--settings=${settingsPath}`] : []),
  ];
  return {
    // Its own settings are in ours then.
    argv: [program, ...options, ...(asks ? withoutOption(rest, '--settings') : rest)],
    env: {},
    files: [jsonFile(path, servers), ...(hasOurs ? [jsonFile(settingsPath, settings)] : [])],
    notes: [
      ...(asks
        ? [
            `claude runs in its mode '${ownMode ?? askingMode}', and asks nobody about what its settings${ownMode === 'acceptEdits' ? ' or that mode' : ''} allow`,
          ]
        : []),
      ...(keepMcp ? [] : ["claude's own MCP servers are left out; --keep-mcp keeps them"]),
      ...(mailHook !== undefined && hasSettings
        ? ['claude takes one --settings, and has one of its own: no hook tells it of new mail']
        : []),
    ],
  };
};

/**
 * Returns the hooks that mention mail before a turn and at its end, and those that wait for mail from the start and from the end of each
 * turn. Claude Code runs the latter in the background. When one exits with 2, it begins a turn with the printed text.
 */
function hooksOf(mailHook: string | undefined, wakeHook: string | undefined) {
  if (mailHook === undefined && wakeHook === undefined) return undefined;
  const mail = mailHook !== undefined && {
    hooks: [{ type: 'command', command: mailHook, timeout: hookTimeoutMs / 1000 }],
  };
  const wake = wakeHook !== undefined && {
    hooks: [{ type: 'command', command: wakeHook, timeout: wakeTimeoutMs / 1000, asyncRewake: true }],
  };
  return {
    ...(wake && { SessionStart: [wake] }),
    ...(mail && { UserPromptSubmit: [mail] }),
    Stop: [mail, wake].filter(Boolean),
  };
}
