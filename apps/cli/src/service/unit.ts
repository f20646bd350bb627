import { basename, dirname, isAbsolute } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';

/** Everything on which a unit depends. Paths are absolute. */
export interface UnitFacts {
  scope: 'user' | 'system';
  /** The program and its arguments before those of a command. */
  command: readonly string[];
  config: string;
  dataDir: string;
  /** The user of a system unit. */
  runAs: string;
  /** Directories that hosted servers may write to. */
  writable: readonly string[];
  /** Secrets by name, with the files that hold them. */
  credentials: readonly { name: string; file: string }[];
}

/** The name of the unit. */
export const unitName = 'signalbox.service';

/** The directory that a system unit has for backups. systemd makes it for the service's user. */
export const backupDirectory = '/var/lib/signalbox-backups';

/** The part of the home directories of users, which a system unit hides unless it needs them. */
const homes = ['/home', '/root', '/run/user'];

/** The exit codes for which a new start is no remedy: wrong usage or configuration, and no permission. */
const finalExitCodes = '2 77';

/** Writes the text of a systemd unit that runs `signalbox up`. Throws `usage` for a path that no unit can hold. */
export function unitText(facts: UnitFacts): string {
  const { scope, command, config, dataDir } = facts;
  const start = [...command, 'up', '--config', config, '--data', dataDir].map(word).join(' ');
  const isSystem = scope === 'system';
  return `[Unit]
Description=Signalbox: messages and tools for fleets of AI agents
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${start}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=${path(dirname(config))}
Environment=${word(`PATH=${searchPath(command)}`)}
EnvironmentFile=-${isSystem ? '/etc/signalbox/environment' : '%h/.config/signalbox/environment'}
${credentialLines(facts)}Restart=on-failure
RestartSec=2
RestartPreventExitStatus=${finalExitCodes}
# The children of up end first, and it kills those that do not.
KillMode=mixed
TimeoutStopSec=60
LimitNOFILE=65536
UMask=0077
${isSystem ? `${systemLines(facts)}\n` : ''}
# For every program that runs here, MCP servers included. The guide on operations says which of them need less.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}
`;
}

/** Settings that only the system's manager can put in force. */
function systemLines({ runAs, dataDir, writable, command, config, credentials }: UnitFacts): string {
  const own = ownDirectory(dataDir);
  const state = [...(own === undefined ? [] : [own]), basename(backupDirectory)];
  const paths = [...(own === undefined ? [dataDir] : []), ...writable];
  const read = [
    ...command.filter(isAbsolute),
    config,
    dataDir,
    ...writable,
    ...credentials.map(({ file }) => file),
  ];
  const isInHome = read.some((one) => homes.some((home) => one === home || one.startsWith(`${home}/`)));
  return [
    `User=${path(runAs)}`,
    `StateDirectory=${state.map(word).join(' ')}`,
    'StateDirectoryMode=0700',
    // npm and others keep what they load in the home directory.
    'CacheDirectory=signalbox',
    'CacheDirectoryMode=0700',
    'Environment=HOME=/var/cache/signalbox',
    'ProtectSystem=strict',
    ...(paths.length > 0 ? [`ReadWritePaths=${paths.map(word).join(' ')}`] : []),
    `ProtectHome=${isInHome ? 'read-only' : 'yes'}`,
    'PrivateTmp=yes',
    'PrivateDevices=yes',
    'ProtectClock=yes',
    'ProtectControlGroups=yes',
    'ProtectHostname=yes',
    'ProtectKernelLogs=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelTunables=yes',
    'ProtectProc=invisible',
    'CapabilityBoundingSet=',
    'AmbientCapabilities=',
    'RemoveIPC=yes',
  ].join('\n');
}

/** Returns the name of a directory directly under `/var/lib`, which systemd can make and give to the user. */
function ownDirectory(dataDir: string): string | undefined {
  return dirname(dataDir) === '/var/lib' ? basename(dataDir) : undefined;
}

function credentialLines({ credentials }: UnitFacts): string {
  return credentials.map(({ name, file }) => `LoadCredential=${name}:${path(file)}\n`).join('');
}

/** The Node that runs us comes first, so that servers with `npx` and `node` find one. */
function searchPath([program = '']: readonly string[]): string {
  return [...new Set([dirname(program), '/usr/local/bin', '/usr/bin', '/bin'])].join(':');
}

/** Writes a word of a setting that is split into words. */
function word(text: string): string {
  const escaped = path(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$$$');
  return /^[\w%=+:,./@-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

/** Writes a setting that is one path. A percent sign would begin a specifier. */
function path(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!/[\u0000-\u001f]/.test(text)) return text.replaceAll('%', '%%');
  throw new SignalboxError(
    'usage',
    `${JSON.stringify(text)} holds a character that no unit of systemd can hold`,
  );
}
