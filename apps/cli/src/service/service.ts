import { execFile } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { type FoundConfig, findConfig } from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { loadFound } from '../config/load-found.ts';
import { ownCommand } from '../process/own-command.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';
import { type Systemd, thisSystemd } from './systemd.ts';
import { backupDirectory, type UnitFacts, unitName, unitText } from './unit.ts';
import { markedUnit, readOwnUnit, writeUnit } from './unit-file.ts';

/** The options that `service install` and `service uninstall` share. */
export interface ServiceFlags {
  user?: boolean;
  system?: boolean;
  json?: boolean;
}

/** The options of `signalbox service install`. */
export interface InstallFlags extends ServiceFlags {
  config?: string;
  data?: string;
  runAs: string;
  writable?: string[];
  credential?: { name: string; file: string }[];
  print?: boolean;
}

/** The data directory of a system service, unless an option or the configuration names another. */
const systemDataDir = '/var/lib/signalbox';
const othersMayEnter = 0o001;

/** Writes a unit, has it started now and at every boot, and says how to look after it. With `print` it only prints the unit. */
export async function installService(
  flags: InstallFlags,
  systemdOf: (scope: UnitFacts['scope'], env: NodeJS.ProcessEnv) => Systemd = thisSystemd,
): Promise<void> {
  const scope = scopeOf(flags);
  const facts = await factsOf(flags, scope);
  const text = unitText(facts);
  const systemd = systemdOf(scope, process.env);
  const { unitFile } = systemd;
  if (flags.print) {
    if (flags.json) printJson({ file: unitFile, unit: markedUnit(text) });
    else process.stdout.write(markedUnit(text));
    return;
  }
  requireSystemd(systemd);
  if (scope === 'system') {
    await requireUser(facts.runAs);
    const closed = closedDirectories([...facts.command, facts.config]);
    if (closed.length > 0) {
      printNotes(
        `signalbox: the user ${facts.runAs} may not get through ${closed.join(', ')}, unless it belongs to that user: ` +
          'put signalbox and the configuration where others may read, as in /opt and /etc/signalbox',
      );
    }
  }
  const change = attempt(unitFile, () => writeUnit(unitFile, text));
  await systemd.systemctl('daemon-reload');
  await systemd.systemctl('enable', unitName);
  await systemd.systemctl(change === 'same' ? 'start' : 'restart', unitName);
  if (flags.json) printJson({ file: unitFile, change, data: facts.dataDir });
  else printLines(...installedLines(unitFile, change, facts));
}

/** Stops the service and removes its unit. Its data stays. */
export async function uninstallService(
  flags: ServiceFlags,
  systemdOf: (scope: UnitFacts['scope'], env: NodeJS.ProcessEnv) => Systemd = thisSystemd,
): Promise<void> {
  const systemd = systemdOf(scopeOf(flags), process.env);
  const { unitFile } = systemd;
  const isThere = attempt(unitFile, () => readOwnUnit(unitFile)) !== undefined;
  if (isThere) {
    if (systemd.isRunning) await systemd.systemctl('disable', '--now', unitName);
    attempt(unitFile, () => rmSync(unitFile));
    if (systemd.isRunning) await systemd.systemctl('daemon-reload');
  }
  if (flags.json) printJson({ file: unitFile, removed: isThere });
  else {
    printLines(
      isThere
        ? `${unitFile} is removed, and the service has ended; its data and its configuration stay.`
        : `There is no ${unitFile}: nothing to remove.`,
    );
  }
}

function scopeOf({ user, system }: ServiceFlags): UnitFacts['scope'] {
  if (user && system)
    throw usage(
      'both --user and --system are given',
      'leave one of them out: root gets --system without either',
    );
  return system || (!user && process.getuid?.() === 0) ? 'system' : 'user';
}

async function factsOf(flags: InstallFlags, scope: UnitFacts['scope']): Promise<UnitFacts> {
  const found = requireConfig(findConfig(flags.config));
  const config = await loadFound(found, { parts: ['broker'] });
  const isNamed = flags.data !== undefined || config.broker.data !== undefined;
  const { command, args } = ownCommand();
  return {
    scope,
    command: [command, ...args],
    config: resolve(found.file),
    dataDir: scope === 'system' && !isNamed ? systemDataDir : dataDirectory(flags.data, config),
    runAs: flags.runAs,
    writable: (flags.writable ?? []).map((directory) => resolve(directory)),
    credentials: (flags.credential ?? []).map(({ name, file }) => ({ name, file: resolve(file) })),
  };
}

function requireConfig(found: FoundConfig | undefined): FoundConfig {
  if (found) return found;
  throw usage(
    'a service needs a configuration, and none was found here',
    'name it with --config FILE; signalbox init writes one',
  );
}

function requireSystemd({ isRunning }: Systemd): void {
  if (isRunning) return;
  throw usage(
    'systemd does not run this machine, so no service can be installed',
    'signalbox service install --print shows the unit; elsewhere let your own supervisor run: signalbox up   (a container: see deploy/)',
  );
}

/** Rejects with `usage` if the machine has no such user. */
async function requireUser(name: string): Promise<void> {
  const isThere = await new Promise<boolean>((settle) => {
    execFile('id', ['-u', name], (error) => settle(!error));
  });
  if (isThere) return;
  throw usage(
    `this machine has no user ${name} for the service`,
    `make it: useradd --system --home-dir ${systemDataDir} --shell /usr/sbin/nologin ${name}   (or name another with --run-as)`,
  );
}

/** Lists the directories over these files that shut out others than their owner and its group. */
function closedDirectories(words: readonly string[]): string[] {
  const over = (path: string): string[] => (path === '/' ? [] : [...over(dirname(path)), path]);
  const directories = new Set(words.filter(isAbsolute).flatMap((file) => over(dirname(file))));
  return [...directories].filter((one) => {
    const mode = statSync(one, { throwIfNoEntry: false })?.mode;
    return mode !== undefined && (mode & othersMayEnter) === 0;
  });
}

/** Says who may write a unit, if this user may not. */
function attempt<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errnoOf(cause) ?? '')) throw cause;
    throw new SignalboxError('usage', `${file} can't be written: ${messageOf(cause)}`, {
      cause,
      details: { hint: 'run it with sudo, or install a service of your own with --user' },
    });
  }
}

function installedLines(unitFile: string, change: string, { scope, dataDir, runAs }: UnitFacts): string[] {
  const flag = scope === 'user' ? ' --user' : '';
  const what = { new: 'is written', replaced: 'is replaced', same: 'is as it was' }[change];
  return [
    `${unitFile} ${what}; the service runs, and starts again ${scope === 'user' ? 'when you log in' : 'at every boot'}.`,
    `  data     ${dataDir}`,
    `  state    systemctl${flag} status signalbox`,
    `  log      journalctl${flag} -u signalbox -f`,
    ...(scope === 'user'
      ? ['  To have it run while you are not logged in: loginctl enable-linger']
      : [
          `  backups  may be written to ${backupDirectory}`,
          `  commands are run as its user, as in: sudo -u ${runAs} signalbox status --data ${dataDir}`,
        ]),
  ];
}

function usage(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', message, { details: { hint } });
}
