import { expect, it } from 'vitest';
import { findProtectedResource, resourceOf } from './protected-resource.ts';

const url = 'https://mcp.example/team/mcp?key=secret-1';
const signal = new AbortController().signal;

/** A web of JSON documents; everything else is a 404. */
function web(
  documents: Record<string, unknown>,
  challenge?: string,
): { send: typeof fetch; asked: string[] } {
  const asked: string[] = [];
  const send: typeof fetch = async (input) => {
    asked.push(String(input));
    const headers: Record<string, string> = challenge ? { 'www-authenticate': challenge } : {};
    if (String(input) === url) return new Response('', { status: 401, headers });
    const body = documents[String(input)];
    return body === undefined ? new Response('', { status: 404 }) : Response.json(body);
  };
  return { send, asked };
}

function about(resource: string, more = {}) {
  return { resource, authorization_servers: ['https://as.example'], ...more };
}

it('looks where the challenge points, and takes its scope', async () => {
  const { send } = web(
    { 'https://meta.example/m': about('https://mcp.example/team/mcp', { scopes_supported: ['all'] }) },
    'Bearer resource_metadata="https://meta.example/m", scope="read"',
  );
  expect(await findProtectedResource(url, send, signal)).toEqual({
    resource: 'https://mcp.example/team/mcp',
    issuer: 'https://as.example',
    scope: 'read',
  });
});

it('looks at the well-known places, the one of the path first', async () => {
  const root = 'https://mcp.example/.well-known/oauth-protected-resource';
  const { send, asked } = web({ [root]: about('https://mcp.example/', { scopes_supported: ['a', 'b'] }) });
  expect(await findProtectedResource(url, send, signal)).toEqual({
    resource: 'https://mcp.example/',
    issuer: 'https://as.example',
    scope: 'a b',
  });
  expect(asked).toEqual([url, `${root}/team/mcp`, root]);
});

it('finds nothing where there is nothing, or nothing of use', async () => {
  const root = 'https://mcp.example/.well-known/oauth-protected-resource';
  const { send } = web({ [root]: { resource: 'https://mcp.example/', authorization_servers: [] } });
  expect(await findProtectedResource(url, send, signal)).toBeUndefined();
});

it('refuses metadata about another server, or another part of this one', async () => {
  const others = [
    'https://evil.example/team/mcp',
    'https://mcp.example/team/mc',
    'https://mcp.example/other',
    'x',
  ];
  for (const resource of others) {
    const { send } = web(
      { 'https://mcp.example/m': about(resource) },
      'Bearer resource_metadata="https://mcp.example/m"',
    );
    await expect(findProtectedResource(url, send, signal)).rejects.toMatchObject({
      code: 'auth_failed',
      message: expect.stringContaining('another resource'),
    });
  }
});

it('names a server by its URL without what may be secret', () => {
  expect(resourceOf('https://user:pass@mcp.example/mcp?key=1#x')).toBe('https://mcp.example/mcp');
  expect(resourceOf('https://mcp.example/')).toBe('https://mcp.example');
});
