import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lint } from 'markdownlint/promise';

/**
 * Fails if a document breaks a rule of Markdown, has a line of text above 120 columns, or links to a file or a heading
 * that isn't there, if a comment names a decision or AGENTS.md a path that isn't there, or if one of the pages that
 * everybody reads grows: node scripts/check-documents.mjs. Links to other sites are not followed.
 */
const root = fileURLToPath(new URL('..', import.meta.url));

const rules = {
  MD013: { line_length: 120, tables: false, code_blocks: false },
  MD024: { siblings_only: true },
  // Tables are written by hand and by programs, and hold patterns with stars and addresses as people type them.
  MD034: false,
  MD037: false,
  MD038: false,
  MD060: false,
  // One document is a part of another.
  MD041: false,
  MD049: false,
};

/** Programs write these, or parts of them, in lines of any length. */
const written = ['bench/src/report/where-we-lose.md', 'docs/benchmarks.md', 'docs/protocol/v1.md'];

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)));
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
const anchors = new Map([...texts].map(([file, text]) => [file, anchorsOf(text)]));

const problems = [
  ...(await brokenRules(
    files.filter((file) => !written.includes(file)),
    rules,
  )),
  ...(await brokenRules(written, { ...rules, MD013: false })),
  ...[...texts].flatMap(([file, text]) => brokenLinks(file, text)),
  ...unlistedDecisions(),
  ...unknownDecisions(),
  ...unknownPaths('AGENTS.md'),
  ...wrongDependencies('docs/dependencies.md'),
  ...tooLong(),
];
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}
const words = [...texts.values()].reduce((sum, text) => sum + wordsOf(text), 0);
process.stdout.write(`documents: ${files.length}, with ${words} words\n`);

/** Compares the rows of a page with what the packages depend on when they are installed. */
function wrongDependencies(page) {
  const manifests = execFileSync('git', ['ls-files', 'packages/*/package.json', 'apps/cli/package.json'], {
    cwd: root,
    encoding: 'utf8',
  });
  const used = new Set();
  for (const file of manifests.trim().split('\n')) {
    const manifest = JSON.parse(readFileSync(join(root, file), 'utf8'));
    if (manifest.name === '@signalbox/testing') continue;
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
      if (!/^(@signalbox|@types)\//.test(name)) used.add(name);
  }
  const told = new Set([...texts.get(page).matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name));
  return [
    ...[...used].filter((name) => !told.has(name)).map((name) => `${page}: ${name} has no row`),
    ...[...told].filter((name) => !used.has(name)).map((name) => `${page}: nothing depends on ${name}`),
  ];
}

async function brokenRules(names, config) {
  const strings = Object.fromEntries(names.map((name) => [name, texts.get(name)]));
  const results = await lint({ strings, config });
  return Object.entries(results).flatMap(([file, errors]) =>
    errors.map(({ lineNumber, ruleNames, ruleDescription, errorDetail, errorContext }) =>
      [`${file}:${lineNumber}: ${ruleNames[0]} ${ruleDescription}`, errorDetail, errorContext]
        .filter(Boolean)
        .join(': '),
    ),
  );
}

function brokenLinks(file, text) {
  return [...withoutCode(text).matchAll(/\]\(\s*([^)\s]+)\s*\)/g)].flatMap(([, target]) => {
    if (/^\w+:/.test(target)) return [];
    const [path, heading] = target.split('#');
    const linked = path === '' ? file : join(dirname(file), decodeURI(path));
    if (!existsSync(join(root, linked))) return [`${file}: ${target} leads to no file`];
    const known = anchors.get(linked);
    return heading === undefined || known === undefined || known.has(heading)
      ? []
      : [`${file}: ${linked} has no heading for #${heading}`];
  });
}

/** Returns the decisions that their list lacks or names by another title. */
function unlistedDecisions() {
  const list = texts.get('docs/adr/README.md') ?? '';
  const decisions = files.filter((file) => /^docs\/adr\/\d/.test(file));
  return decisions.flatMap((file) => {
    const [, title] = /^# (\d+\. .*)$/m.exec(texts.get(file)) ?? [];
    const entry = `- [${title}](${file.split('/').at(-1)})`;
    return list.split('\n').includes(entry) ? [] : [`docs/adr/README.md: needs the line: ${entry}`];
  });
}

/** Returns the places in documents and comments that name a decision by a number that none has. */
function unknownDecisions() {
  const named = execFileSync('git', ['grep', '-InoE', '--untracked', 'ADR [0-9]+'], {
    cwd: root,
    encoding: 'utf8',
  });
  return named
    .trim()
    .split('\n')
    .filter((place) => {
      const number = place.split('ADR ').at(-1).padStart(4, '0');
      return !files.some((file) => file.startsWith(`docs/adr/${number}-`));
    })
    .map((place) => `${place} is in no file of docs/adr`);
}

/** Returns the paths of files that a page names and that aren't there. A path without a folder is no path. */
function unknownPaths(file) {
  return [...texts.get(file).matchAll(/`([\w.-]+\/[\w./-]+)`/g)].flatMap(([, path]) =>
    ['', 'packages/'].some((above) => existsSync(join(root, above, path)))
      ? []
      : [`${file}: there is no ${path}`],
  );
}

/** Returns what is longer than its reader has time for. */
function tooLong() {
  const over = (name, size, most, unit) =>
    size > most ? [`${name}: ${size} ${unit}, and at most ${most} are read; cut some`] : [];
  const architecture = texts.get('ARCHITECTURE.md');
  const [, glossary = ''] = architecture.split('\n## Glossary\n');
  const [, unreleased = ''] = texts.get('CHANGELOG.md').split('\n## Unreleased\n');
  return [
    ...over('AGENTS.md', texts.get('AGENTS.md').trimEnd().split('\n').length, 120, 'lines'),
    ...over('ARCHITECTURE.md', wordsOf(architecture), 2800, 'words'),
    ...files
      .filter((file) => /^docs\/adr\/\d/.test(file))
      .flatMap((file) => over(file, wordsOf(texts.get(file)), 450, 'words')),
    ...over('docs/benchmarks.md', wordsOf(texts.get('docs/benchmarks.md')), 4000, 'words'),
    ...over('ARCHITECTURE.md, glossary', glossary.match(/^\| /gm).length - 2, 60, 'entries'),
    ...unreleased
      .split(/\n(?=- |\n)/)
      .filter((entry) => entry.startsWith('- '))
      .flatMap((entry) => over(`CHANGELOG.md, "${entry.slice(2, 50)}…"`, wordsOf(entry), 60, 'words')),
  ];
}

function wordsOf(text) {
  return text.split(/\s+/).filter(Boolean).length;
}

/** Returns the anchors that readers of Markdown make of headings: words in lower case, joined by hyphens, numbered if they repeat. */
function anchorsOf(text) {
  const seen = new Map();
  const found = new Set([...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id]) => id));
  for (const [, title] of withoutBlocks(text).matchAll(/^#+ +(.*?) *$/gm)) {
    const words = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    found.add(times === 0 ? slug : `${slug}-${times}`);
  }
  return found;
}

function withoutBlocks(text) {
  return text.replace(/^( *)```.*?^\1```/gms, '');
}

function withoutCode(text) {
  return withoutBlocks(text).replace(/`[^`\n]*`/g, '');
}
