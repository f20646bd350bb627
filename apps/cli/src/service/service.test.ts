import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type InstallFlags, installService, uninstallService } from './service.ts';
import type { Systemd } from './systemd.ts';
import { type UnitFacts, unitText } from './unit.ts';
import { markedUnit, writeUnit } from './unit-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-service-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const config = join(directory, 'signalbox.yaml');
writeFileSync(config, 'broker: { data: ./state }\n');

const system: UnitFacts = {
  scope: 'system',
  command: ['/opt/node/bin/node', '/opt/signalbox/apps/cli/bin/signalbox.js'],
  config: '/etc/signalbox/signalbox.yaml',
  dataDir: '/var/lib/signalbox',
  runAs: 'signalbox',
  writable: [],
  credentials: [],
};

function settings(text: string): string[] {
  return text.split('\n').filter((line) => line.includes('='));
}

test('A system unit names node, script, configuration and data by their paths, and may write to its data and its backups only.', () => {
  const lines = settings(unitText(system));
  expect(lines).toContain(
    'ExecStart=/opt/node/bin/node /opt/signalbox/apps/cli/bin/signalbox.js up --config /etc/signalbox/signalbox.yaml --data /var/lib/signalbox',
  );
  expect(lines).toContain('User=signalbox');
  expect(lines).toContain('StateDirectory=signalbox signalbox-backups');
  expect(lines).toContain('ProtectSystem=strict');
  expect(lines).toContain('ProtectHome=yes');
  expect(lines.filter((line) => line.startsWith('ReadWritePaths='))).toEqual([]);
});

test('A data directory elsewhere and the directories of servers are opened for writing, and homes only as far as needed.', () => {
  const lines = settings(unitText({ ...system, dataDir: '/srv/mail', writable: ['/srv/my project'] }));
  expect(lines).toContain('ReadWritePaths=/srv/mail "/srv/my project"');
  expect(lines).toContain('StateDirectory=signalbox-backups');
  const home = settings(unitText({ ...system, config: '/home/rosa/signalbox.yaml' }));
  expect(home).toContain('ProtectHome=read-only');
  expect(settings(unitText({ ...system, config: '/homes/signalbox.yaml' }))).toContain('ProtectHome=yes');
});

test('A user unit has no setting that only the manager of the system can put in force.', () => {
  const text = unitText({ ...system, scope: 'user', dataDir: '/home/rosa/.local/state/signalbox' });
  expect(text).toContain('WantedBy=default.target');
  expect(text).toContain('NoNewPrivileges=yes');
  expect(text).not.toMatch(/^(User|ProtectSystem|StateDirectory|PrivateTmp|CapabilityBoundingSet)=/m);
});

test('Blanks, quotes, dollars and percent signs in paths mean themselves.', () => {
  const odd = '/srv/a b/100%/$HOME/"x"/signalbox.yaml';
  const text = unitText({ ...system, config: odd, credentials: [{ name: 'docs', file: '/etc/100%.key' }] });
  expect(text).toContain('--config "/srv/a b/100%%/$$HOME/\\"x\\"/signalbox.yaml" --data');
  expect(text).toContain('\nWorkingDirectory=/srv/a b/100%%/$HOME/"x"\n');
  expect(text).toContain('\nLoadCredential=docs:/etc/100%%.key\n');
  expect(() => unitText({ ...system, config: '/srv/a\nExecStart=x/s.yaml' })).toThrow(
    'no unit of systemd can hold',
  );
  expect(() => unitText({ ...system, runAs: 'root\nExecStartPre=x' })).toThrow('no unit of systemd can hold');
});

test('Only a unit that is as it was written is replaced.', () => {
  const file = join(directory, 'units', 'signalbox.service');
  expect(writeUnit(file, 'A=1\n')).toBe('new');
  expect(writeUnit(file, 'A=1\n')).toBe('same');
  expect(writeUnit(file, 'A=2\n')).toBe('replaced');
  writeFileSync(file, `${readFileSync(file, 'utf8')}B=by hand\n`);
  expect(() => writeUnit(file, 'A=3\n')).toThrow('was changed after signalbox service install wrote it');
  writeFileSync(file, 'A=by somebody else\n');
  expect(() => writeUnit(file, 'A=3\n')).toThrow('was not written by signalbox service install');
  expect(readFileSync(file, 'utf8')).toBe('A=by somebody else\n');
});

/** A manager that notes what it is told. */
function manager(
  name: string,
  { isRunning = true } = {},
): { systemd: () => Systemd; told: string[]; file: string } {
  const told: string[] = [];
  const unitFile = join(directory, name, 'signalbox.service');
  const systemctl = async (...args: string[]): Promise<void> => void told.push(args.join(' '));
  return { systemd: () => ({ unitFile, isRunning, systemctl }), told, file: unitFile };
}

const flags: InstallFlags = { user: true, config, runAs: 'signalbox', json: true };

test('An installed unit is enabled and started, one that changed is started again, and a removed one is stopped first.', async () => {
  const { systemd, told, file } = manager('installed');
  await installService(flags, systemd);
  expect(told.splice(0)).toEqual(['daemon-reload', 'enable signalbox.service', 'restart signalbox.service']);
  expect(readFileSync(file, 'utf8')).toContain(`--data ${join(directory, 'state')}`);
  await installService(flags, systemd);
  expect(told.splice(0)).toEqual(['daemon-reload', 'enable signalbox.service', 'start signalbox.service']);
  await uninstallService({ user: true, json: true }, systemd);
  expect(told).toEqual(['disable --now signalbox.service', 'daemon-reload']);
  expect(existsSync(file)).toBe(false);
});

test('Without systemd nothing is written, and the error says what to do instead.', async () => {
  const { systemd, told, file } = manager('absent', { isRunning: false });
  await expect(installService(flags, systemd)).rejects.toThrow('systemd does not run this machine');
  expect({ told, isThere: existsSync(file) }).toEqual({ told: [], isThere: false });
});

test('A unit of somebody else is neither replaced nor removed, and systemd is told nothing.', async () => {
  const { systemd, told, file } = manager('foreign');
  writeUnit(file, 'A=1\n');
  chmodSync(file, 0o644);
  writeFileSync(file, markedUnit('A=1\n').replace('A=1', 'A=9'));
  await expect(installService(flags, systemd)).rejects.toThrow('was changed');
  await expect(uninstallService({ user: true }, systemd)).rejects.toThrow('was changed');
  expect({ told, text: readFileSync(file, 'utf8') }).toMatchObject({
    told: [],
    text: expect.stringContaining('A=9'),
  });
});
