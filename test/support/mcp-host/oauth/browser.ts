/** Follows the redirects from a URL as a browser does, and returns the last page. Cookies are kept per origin. */
export async function browse(start: string): Promise<{ status: number; text: string; url: string }> {
  const cookies = new Map<string, Map<string, string>>();
  let url = start;
  for (let hop = 0; hop < 20; hop++) {
    const { origin } = new URL(url);
    const jar = cookies.get(origin) ?? new Map<string, string>();
    cookies.set(origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    const text = await response.text();
    if (location === null) return { status: response.status, text, url };
    url = new URL(location, url).href;
  }
  throw new Error('too many redirects');
}
