import { expect, test } from 'vitest';
import { unknownRecipients } from '../checks/unknown-recipients.ts';
import { settleConfig } from '../config.ts';
import { parseConfig } from '../parse-config.ts';

function problemsOf(name: string, fields: string): string[] {
  const parsed = parseConfig(`schedules:\n  ${name}: { ${fields} }\n`, { env: {}, readFile: () => '' });
  return 'problems' in parsed
    ? parsed.problems.map(({ line, path, message }) => `${line}: ${path}: ${message}`)
    : [];
}

test.each([
  ['morning', 'cron: "0 9 * * 1-5", timeZone: Europe/Oslo, to: rosa, text: look'],
  ['a-2', 'every: 15m, to: "role:crawler", kind: note, text: look, catchUp: none'],
  ['b', 'every: 1d, to: "rosa", text: look, catchUp: 2h'],
])('The schedule %s with %s is right.', (name, fields) => {
  expect(problemsOf(name, fields)).toEqual([]);
});

test.each([
  ['Mor.ning', 'every: 1h, to: rosa, text: x', /schedules\.Mor\.ning.*at most 32/],
  [
    'a',
    'cron: "0 9 * *", to: rosa, text: x',
    /^2: schedules\.a\.cron: '0 9 \* \*' is no cron expression of five fields/,
  ],
  ['a', 'cron: "0 25 * * *", to: rosa, text: x', /schedules\.a\.cron: .*hour: 25/],
  [
    'a',
    'cron: "0 9 * * *", timeZone: Europe/Olso, to: rosa, text: x',
    /schedules\.a\.timeZone: .*did you mean 'Europe\/Oslo'/,
  ],
  ['a', 'every: 15, to: rosa, text: x', /schedules\.a\.every/],
  ['a', 'every: soon, to: rosa, text: x', /schedules\.a\.every: .*15m/],
  ['a', 'every: 500ms, to: rosa, text: x', /schedules\.a\.every: .*at least 1s/],
  ['a', 'every: 1h, cron: "0 9 * * *", to: rosa, text: x', /schedules\.a\.every: .*leave one of them out/],
  ['a', 'to: rosa, text: x', /schedules\.a\.cron: must be there, or every/],
  ['a', 'every: 1h, to: Rosa, text: x', /schedules\.a\.to/],
  ['a', 'every: 1h, to: "rosa#x", text: x', /schedules\.a\.to: .*no sub-inbox/],
  ['a', 'every: 1h, to: rosa, kind: reply, text: x', /schedules\.a\.kind: .*reply/],
  ['a', 'every: 1h, to: rosa', /schedules\.a\.text/],
  ['a', 'every: 1h, to: rosa, text: x, catchUp: never', /schedules\.a\.catchUp: .*or none/],
])('The schedule %s with %s is refused with its field.', (name, fields, problem) => {
  expect(problemsOf(name, fields).join('\n')).toMatch(problem);
});

test('A schedule to a group that the configuration does not name is warned about with the nearest.', () => {
  const from = { files: {}, directory: '/', servers: {}, leftOut: [], warnings: [] };
  const schedules = {
    a: { every: '1h', to: 'role:triag', text: 'x' },
    b: { every: '1h', to: 'rosa', text: 'x' },
  };
  const config = settleConfig({ roles: { triage: { tools: [] } }, schedules }, from);
  expect(unknownRecipients(config, 'f.yaml')).toEqual([
    expect.stringMatching(
      /^f\.yaml: schedules\.a\.to: .*'role:triag' \(did you mean 'role:triage'\?\); runs are refused/,
    ),
  ]);
});
