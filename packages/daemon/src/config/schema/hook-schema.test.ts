import { expect, test } from 'vitest';
import { unknownRecipients } from '../checks/unknown-recipients.ts';
import { settleConfig } from '../config.ts';
import { parseConfig } from '../parse-config.ts';

const sources = { env: { S: 'a secret of 16 bytes and more' }, readFile: () => '' };
const reference = ['$', '{env:S}'].join('');

function problemsOf(text: string): string[] {
  const parsed = parseConfig(text, sources);
  return 'problems' in parsed
    ? parsed.problems.map(({ line, path, message }) => `${line}: ${path}: ${message}`)
    : [];
}

const hook = (name: string, fields: string) => `hooks:\n  ${name}: { ${fields} }\n`;

test.each([
  ['github', `to: "role:triage", kind: task, secret: "${reference}", signature: github`],
  ['ci-2', 'to: rosa, secret: abcdefghijklmnop, signature: bearer'],
  ['0', 'to: rosa, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, signature: standard'],
])('The webhook %s with %s is right.', (name, fields) => {
  expect(problemsOf(hook(name, fields))).toEqual([]);
});

test.each([
  ['Git.Hub', `to: rosa, secret: "${reference}", signature: github`, /hooks\.Git\.Hub.*at most 32/],
  ['a', `to: Rosa, secret: "${reference}", signature: github`, /hooks\.a\.to/],
  ['a', `to: "rosa#x", secret: "${reference}", signature: github`, /hooks\.a\.to: .*no sub-inbox/],
  [
    'a',
    `to: rosa, kind: mcp_request, secret: "${reference}", signature: github`,
    /hooks\.a\.kind: .*mcp_request/,
  ],
  ['a', `to: rosa, secret: "${reference}", signature: hmac`, /hooks\.a\.signature/],
  ['a', 'to: rosa, secret: hush-short, signature: github', /hooks\.a\.secret: .*16 bytes/],
  [
    'a',
    'to: rosa, secret: hush-of-32-bytes-and-no-whsec---, signature: standard',
    /hooks\.a\.secret: .*whsec_/,
  ],
  ['a', 'to: rosa, signature: github', /hooks\.a\.secret/],
  ['a', `secret: "${reference}", signature: github`, /hooks\.a\.to/],
])('The webhook %s with %s is refused with its field, and without its secret.', (name, fields, problem) => {
  const problems = problemsOf(hook(name, fields)).join('\n');
  expect(problems).toMatch(problem);
  expect(problems).not.toMatch(/hush|a secret of/);
});

test('Two webhooks of one name are refused.', () => {
  const fields = '{ to: rosa, secret: abcdefghijklmnop, signature: github }';
  expect(problemsOf(`hooks:\n  a: ${fields}\n  a: ${fields}\n`).join()).toMatch(/^3: .*twice/);
});

test('A webhook to a role or group that the configuration does not name is warned about with the nearest, and one to an agent is not.', () => {
  const entry = (to: string) => ({ to, secret: 'abcdefghijklmnop', signature: 'github' as const });
  const from = { files: {}, directory: '/', servers: {}, leftOut: [], warnings: [] };
  const document = {
    roles: { triage: { tools: [] } },
    groups: { desk: { roles: ['triage'] } },
    hooks: {
      a: entry('role:triag'),
      b: entry('role:triage'),
      c: entry('rosa'),
      d: entry('group:desc'),
      e: entry('group:desk'),
    },
  };
  expect(unknownRecipients(settleConfig(document, from), 'f.yaml')).toEqual([
    expect.stringMatching(/^f\.yaml: hooks\.a\.to: .*'role:triag' \(did you mean 'role:triage'\?\)/),
    expect.stringMatching(/^f\.yaml: hooks\.d\.to: .*'group:desc' \(did you mean 'group:desk'\?\)/),
  ]);
});
