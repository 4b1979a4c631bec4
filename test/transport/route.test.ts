import { describe, expect, it } from 'vitest';
import { isLoopback, pathVia, proxyFor, proxyHeaders } from '../../src/transport/route.ts';

const PROXY = 'http://proxy.example:3128';
const shown = (url: string, setting: string | null, env: Record<string, string>) =>
  proxyFor(new URL(url), setting, env)?.shown ?? null;

describe('the proxy of an address', () => {
  it('comes from the variable of its scheme, small letters first, or from all_proxy', () => {
    expect(shown('http://a.example', null, { http_proxy: PROXY })).toBe(PROXY);
    expect(shown('https://a.example', null, { http_proxy: PROXY })).toBe(null);
    expect(shown('https://a.example', null, { HTTPS_PROXY: PROXY })).toBe(PROXY);
    expect(shown('http://a.example', null, { HTTP_PROXY: 'http://big:1', http_proxy: PROXY })).toBe(PROXY);
    expect(shown('http://a.example', null, { all_proxy: 'proxy.example:3128' })).toBe(PROXY);
    expect(shown('http://a.example', null, { http_proxy: ' ' })).toBe(null);
  });

  it('is none for this machine, unless it is asked for', () => {
    const env = { http_proxy: PROXY, all_proxy: PROXY };
    for (const host of ['127.0.0.1', '127.9.9.9', '[::1]', 'localhost', 'LOCALHOST', 'a.localhost', 'localhost.']) {
      expect(shown(`http://${host}:5000`, null, env), host).toBe(null);
      expect(shown(`http://${host}:5000`, PROXY, {}), host).toBe(PROXY);
    }
    expect(isLoopback('notlocalhost')).toBe(false);
    expect(isLoopback('10.0.0.1')).toBe(false);
  });

  it('is none where no_proxy says so', () => {
    const cases: [host: string, list: string, isProxied: boolean][] = [
      ['a.example', 'a.example', false],
      ['a.example', 'example', false],
      ['a.example', '.example', false],
      ['a.example', '*.example', false],
      ['badexample', 'example', true],
      ['a.example', 'b.example, a.example', false],
      ['a.example', 'b.example a.example', false],
      ['a.example', '*', false],
      ['a.example:81', 'a.example:80', true],
      ['a.example:81', 'a.example:81', false],
      ['10.1.2.3', '10.1.2.3', false],
      ['10.1.2.3', '10.0.0.0/8', false],
      ['11.1.2.3', '10.0.0.0/8', true],
      ['10.1.2.3', '10.0.0.0/99', true],
      ['110.1.2.3', '10.1.2.3', true],
      ['[2001:db8::1]', '2001:db8::/32', false],
      ['[2001:db8::1]', '[2001:db8::1]', false],
      ['a.example', '', true],
    ];
    for (const [host, list, isProxied] of cases) {
      const found = shown(`http://${host}`, null, { http_proxy: PROXY, no_proxy: list });
      expect(found, `${host} with no_proxy=${list}`).toBe(isProxied ? PROXY : null);
    }
  });

  it('can be switched off', () => {
    expect(shown('http://a.example', 'off', { http_proxy: PROXY })).toBe(null);
  });

  it('is shown without its user, who goes into a header', () => {
    const proxy = proxyFor(new URL('http://a.example'), 'http://us%40er:p%3Aw@proxy.example', {});
    expect(proxy).toEqual({
      host: 'proxy.example',
      port: 80,
      authorization: `Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
      shown: 'http://proxy.example',
      source: '--proxy',
    });
    const plain = { origin: 'http://a.example', proxy };
    expect(proxyHeaders(plain)).toEqual([['Proxy-Authorization', proxy?.authorization]]);
    expect(pathVia(plain, '/v1/x')).toBe('http://a.example/v1/x');
    // Inside of a tunnel the server must not see either.
    const secure = { origin: 'https://a.example', proxy };
    expect([proxyHeaders(secure), pathVia(secure, '/v1/x')]).toEqual([[], '/v1/x']);
  });

  it('must be one that is spoken to by http', () => {
    expect(() => shown('http://a.example', 'socks5://p:1', {})).toThrow(/--proxy: only proxies/);
    expect(() => shown('http://a.example', 'http://[bad', {})).toThrow(/--proxy: not the address of a proxy/);
    expect(() => shown('http://a.example', null, { http_proxy: 'https://p:1' })).toThrow(/http_proxy: only proxies/);
  });
});
