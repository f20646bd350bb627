import { isSecretName, withoutSecretForms } from '../../redaction/index.ts';

const redacted = '[redacted]';

/** The longest text of one command line, in characters. */
const maxLength = 400;

/**
 * Writes a command line for an operator. Values that are secrets by the name of their option or variable or by their form, and the secrets
 * of `redact`, are left out.
 */
export function commandText(words: readonly string[], redact: (text: string) => string): string {
  const safe = words.map((word, at) => {
    const option = words[at - 1];
    if (option !== undefined && /^--?[\w-]+$/.test(option) && isSecretName(option)) return redacted;
    return quoted(withoutSecretForms(redact(withoutNamedValue(word))));
  });
  const text = safe.join(' ');
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

/** Removes the value from `--token=VALUE`, `API_KEY=VALUE` and `Authorization: VALUE`, also inside the script of a shell. */
function withoutNamedValue(word: string): string {
  const [start, name] = /^([\w.-]+)[=:]/.exec(word) ?? [];
  if (start !== undefined && isSecretName(name!)) return `${start}${redacted}`;
  return valuesInScript.reduce(
    (text, pattern) =>
      text.replace(pattern, (whole, head: string, named: string) =>
        isSecretName(named) ? `${head}${redacted}` : whole,
      ),
    word,
  );
}

/** Matches options, variables and headers with their values. A match begins only at the first character of a name, so that none is slow. */
const valuesInScript = [
  /(?<![\w-])((--?[\w-]+)\s+)(?:"[^"]*"|'[^']*'|[^\s'";&|-][^\s'";&|]*)/g,
  /(?<![\w.-])(([\w.-]+)=)(?:"[^"]*"|'[^']*'|[^\s'";&|]+)/g,
  /(?<![\w-])(([\w-]+):\s+)[^\s'"][^'"]*/g,
];

function quoted(word: string): string {
  return /^[\w.@:/=,+%[\]-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
