import { messageOf } from '../signalbox-error.ts';
import { isAgentId } from './address.ts';

/** The most characters of a token. Ours are short; a JSON Web Token has what its identity provider writes into it. */
export const maxTokenLength = 8192;

const tokenPattern = /^sbx_([^~]+)~[A-Za-z0-9_-]{43}$/;
const mintingPattern = /^[a-z0-9][a-z0-9_.-]{0,126}\*$/;

/** The number of characters of the secret in a token. */
const secretLength = 43;

/** Tells whether a name is the pattern of a minting token, such as `ci-*`, which covers every agent id with that beginning. */
export function isMintingPattern(agent: string): boolean {
  return mintingPattern.test(agent);
}

/**
 * Writes a token as text: `sbx_<agent>~<secret>`, where the secret is 32 random bytes in base64url. The agent in it helps people
 * to tell tokens apart. The broker trusts only the record that it finds by the hash of the whole text.
 */
export function tokenText(agent: string, secret: string): string {
  return `sbx_${agent}~${secret}`;
}

/**
 * Matches tokens in other texts, also in JSON, and cut ones, since part of a secret is worth hiding, too. It ends at the next
 * beginning of a token, so that no part of a text is searched more than once.
 */
const tokensInText = /sbx_(?:(?!sbx_)[a-z0-9_.*-]){0,128}~[A-Za-z0-9_-]{8,}/g;

/** The name `"alg"` in base64url, at each of its three offsets. The header of every JSON Web Token has it. */
const algInBase64 = '(?:ImFsZyI|JhbGci|iYWxnI)';

/**
 * Matches JSON Web Tokens in other texts, also those whose signature is cut. A token begins with its word: after at most five letters,
 * which an escape of JSON (`\n`, `\u003d`) or of a URL (`%3D`) leaves before it. So no part of a text is searched more than a few times.
 */
const jwtsInText = new RegExp(
  String.raw`(?<![\w-])([\w-]{0,5}?)(?=ey[\w-]*${algInBase64})eyJ[\w-]+\.[\w-]+\.[\w-]*`,
  'g',
);

/** Replaces every token in a text, ours and those of identity providers, by `mark`. A text that is JSON stays JSON if the mark does. */
export function withoutTokens(text: string, mark: (token: string) => string = () => '[token]'): string {
  const rest = text.includes('sbx_') ? text.replace(tokensInText, mark) : text;
  if (!rest.includes('eyJ')) return rest;
  return rest.replace(
    jwtsInText,
    (found: string, before: string) => before + mark(found.slice(before.length)),
  );
}

/** Tells whether a token has the form of a JSON Web Token, which an identity provider issues. */
export function isJwt(text: string): boolean {
  return /^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/.test(text);
}

/**
 * Returns the agent id that a token text names; in a JSON Web Token it is the claim `agentClaim`. Returns `undefined` for a minting token
 * or a text of another form. Only the broker knows whether it is true.
 */
export function agentOfToken(text: string, agentClaim = 'sub'): string | undefined {
  const agent = holderOf(text, agentClaim);
  return agent !== undefined && isAgentId(agent) ? agent : undefined;
}

/** Returns the pattern of agents that the text of a minting token names, as in `ci-*`; `undefined` for any other token. */
export function mintingPatternOf(text: string): string | undefined {
  const holder = holderOf(text, 'sub');
  return holder !== undefined && isMintingPattern(holder) ? holder : undefined;
}

/** Returns the identity provider that a JSON Web Token names as its issuer, if that is a URL; `undefined` for any other token. */
export function issuerOfToken(text: string): string | undefined {
  const issuer = isJwt(text) ? claimOf(text, 'iss') : undefined;
  return issuer !== undefined && /^https?:\/\/[!-~]{1,256}$/.test(issuer) ? issuer : undefined;
}

function holderOf(text: string, agentClaim: string): string | undefined {
  return isJwt(text) ? claimOf(text, agentClaim) : tokenPattern.exec(text)?.[1];
}

function claimOf(jwt: string, name: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString());
    const value = (claims as Record<string, unknown> | null)?.[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The content of a token file: a token, and the address of its broker if it is known. */
export interface TokenFile {
  token: string;
  url?: string;
}

/** Writes a token file: the token, and the broker's address in a line of its own. */
export function tokenFileText({ token, url }: TokenFile): string {
  return `${[token, ...(url === undefined ? [] : [url])].join('\n')}\n`;
}

/**
 * Reads a token file, without additions of an editor around its lines. Returns `undefined` for another text. The address is not checked.
 */
export function parseTokenFile(text: string): TokenFile | undefined {
  const [, token = '', url] = /^([!-~]+)(?:\s*\n\s*((?:unix|wss?):[^\p{Cc}]+))?$/u.exec(text.trim()) ?? [];
  if (token === '' || token.length > maxTokenLength) return undefined;
  return { token, ...(url !== undefined && { url: url.trim() }) };
}

/** Says what is wrong with a text that was a token of Signalbox, or holds one; `undefined` for a whole token, or another text. */
function tokenFault(text: string): string | undefined {
  if (!text.includes('sbx_') || tokenPattern.test(text)) return undefined;
  const [, agent, secret] = /^sbx_([^~]*)(?:~([A-Za-z0-9_-]*))?$/.exec(text) ?? [];
  if (agent === undefined) return 'has characters before or in its token that belong to none';
  const missing = secretLength - (secret?.length ?? 0);
  if (secret === undefined) return 'is cut: its token has no ~ and nothing behind it';
  return missing > 0
    ? `is cut: ${missing} of the ${secretLength} characters behind ~ are missing`
    : `has ${-missing} characters too many behind ~`;
}

/** The faults of a text that is not the file of one token: it may be of use for something else, and `token issue --force` does not replace it. */
const otherText = {
  several: 'holds several tokens',
  binary: 'is no text',
  none: 'does not hold one token',
} as const;

/**
 * Says what is wrong with the text of a token file, and repeats none of it; `undefined` for a whole one. The file that we write ends with the
 * end of a line, so that an address without one is cut, unless `exists` finds its socket.
 */
export function tokenFileFault(text: string, exists: (path: string) => boolean): string | undefined {
  const lines = text.trim().split(/\s*\n\s*/);
  if (lines[0] === '') return 'is empty';
  if (/[^\P{Cc}\s]|\ufffd/u.test(text)) return otherText.binary;
  if (lines.filter((line) => line.startsWith('sbx_') || isJwt(line)).length > 1) return otherText.several;
  const file = parseTokenFile(text);
  if (!file && lines.length === 2 && !/\s/.test(lines[0]!))
    return 'is cut or wrong in its second line, which is no address of a broker';
  if (!file) return otherText.none;
  if (file.token.startsWith('eyJ') && !isJwt(file.token))
    return 'is cut: its token is no whole JSON Web Token';
  const fault = tokenFault(file.token);
  const last = file.url?.split(',').at(-1);
  if (fault !== undefined || last === undefined || /\n[^\S\n]*$/.test(text)) return fault;
  if (last.startsWith('unix:') && exists(last.slice('unix:'.length))) return undefined;
  return 'is cut in its second line: the address of the broker has no line end';
}

/** The reasons why a file cannot be read, by the code of the failure. */
const readFaults: Readonly<Record<string, string>> = {
  EISDIR: 'is a folder',
  EACCES: 'may not be read by this user',
};

/**
 * Says why a token file is of no use, and what to do: `fault` is that of its text, or the failure to read it. `whose` are the options of
 * `signalbox token issue` that say whose token it is. It repeats no token that was given in place of a file.
 */
export function tokenFileProblem(
  file: string,
  fault: { text: string } | { failure: unknown },
  whose = '--agent NAME --role ROLE',
): { message: string; hint: string } {
  const command = `signalbox token issue ${whose} --out`;
  const issue = `${command} ${file}`;
  if ('text' in fault) {
    const isOther = Object.values<string>(otherText).includes(fault.text);
    return {
      message: `the token file ${file} ${fault.text}`,
      hint: isOther
        ? `name a file with one token; an operator makes one with: ${command} NAME.token`
        : `an operator writes it again with: ${issue} --force`,
    };
  }
  if (withoutTokens(file) !== file)
    return {
      message: 'a token was given in place of the file that holds it',
      hint: 'write the token to a file that only you can read, and name that file',
    };
  const { failure } = fault;
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  const reason = readFaults[code] ?? `cannot be read: ${messageOf(failure)}`;
  const message = code === 'ENOENT' ? `there is no token file ${file}` : `the token file ${file} ${reason}`;
  return { message, hint: `an operator makes one with: ${issue}` };
}
