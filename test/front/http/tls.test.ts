import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { ConfigError } from "../../../src/config/error.ts";
import { checkTlsFiles } from "../../../src/config/tls.ts";
import { listen } from "../../../src/front/http/server.ts";
import { TrustedProxies } from "../../../src/front/http/trusted-proxies.ts";
import { makeCertificate } from "../../e2e/support/certificate.ts";
import { until } from "../../e2e/support/wait.ts";
import { sendAstray } from "../support/raw.ts";

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "perpd-tls-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("files that TLS cannot use are refused with the setting and the reason", (t) => {
  const folder = temporaryFolder(t);
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const one = makeCertificate("one");
  const cert = write("one.crt", one.cert);
  const key = write("one.key", one.key);
  const encrypted = generateKeyPairSync("ec", {
    namedCurve: "prime256v1",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" },
  }).privateKey;
  const now = Date.now();
  assert.deepEqual(checkTlsFiles({ certFile: cert, keyFile: key }, now), []);
  const rows: [certFile: string, keyFile: string, says: RegExp][] = [
    [join(folder, "none.crt"), key, /^tlsCertFile: cannot read .*none\.crt: there is no such file$/],
    [folder, key, /^tlsCertFile: cannot read .*: it is a folder$/],
    [cert, join(folder, "none.key"), /^tlsKeyFile: cannot read .*none\.key: there is no such file$/],
    [key, key, /^tlsCertFile: .* holds no certificate in PEM form.*BEGIN CERTIFICATE/],
    [write("noise", "-----BEGIN CERTIFICATE-----\nnoise"), key, /^tlsCertFile: .* holds no certificate in PEM form/],
    [cert, cert, /^tlsKeyFile: .* holds no private key in PEM form.*BEGIN PRIVATE KEY/],
    [cert, write("encrypted.key", encrypted), /^tlsKeyFile: .* has a passphrase; remove it with: openssl pkey/],
    [cert, write("other.key", makeCertificate("two").key), /^tlsKeyFile: .* does not belong to the first certificate/],
  ];
  for (const [certFile, keyFile, says] of rows)
    assert.throws(
      () => checkTlsFiles({ certFile, keyFile }, now),
      (error: Error) => error instanceof ConfigError && says.test(error.message),
      String(says),
    );
  const late = now + 3 * 24 * 60 * 60 * 1000;
  assert.match(checkTlsFiles({ certFile: cert, keyFile: key }, late).join(), /has been invalid since/);
  assert.match(checkTlsFiles({ certFile: cert, keyFile: key }, 0).join(), /is not valid before/);
  chmodSync(key, 0o644);
  assert.match(checkTlsFiles({ certFile: cert, keyFile: key }, now).join(), /chmod o-r .*one\.key$/);
});

test("an address has a limited number of handshakes, which cost as much as fifty requests", async (t) => {
  if (process.platform !== "linux") return t.skip("needs 127.0.0.2");
  const folder = temporaryFolder(t);
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  const { cert, key } = makeCertificate("one");
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key, { mode: 0o600 });
  const ignore = (): void => {};
  const log = { info: ignore, warn: ignore, error: assert.fail, debug: ignore };
  const server = await listen({
    ...{ host: "127.0.0.1", port: 0, socketPath: "/ws", log, tls: { certFile, keyFile, log } },
    onCall: (call) => call.reply(200, "{}"),
    sockets: { admit() {}, open() {}, message() {}, control() {}, drain() {}, close() {} },
    connectionLimit: { max: 1000, covers: (address) => address !== "127.0.0.4" },
    proxies: new TrustedProxies(["127.0.0.5"]),
  });
  t.after(() => server.close());
  // No further ones are granted meanwhile.
  t.mock.method(performance, "now", () => 0);
  const openMany = async (localAddress: string) => {
    const options = { port: server.port, host: "127.0.0.1", localAddress };
    const sockets = await Promise.all(
      Array.from({ length: 110 }, async () => {
        const socket = connectPlain(options)
          .on("error", () => {})
          .resume();
        await once(socket, "connect");
        return socket;
      }),
    );
    t.after(() => sockets.forEach((socket) => void socket.destroy()));
    return () => sockets.filter(({ closed }) => closed).length;
  };
  const refused = await openMany("127.0.0.2");
  const others = await Promise.all(["127.0.0.4", "127.0.0.5"].map(openMany));
  await until("ten to be closed", () => refused() === 10);
  assert.deepEqual(
    others.map((count) => count()),
    [0, 0],
  );
});

test("TLS: requests and WebSockets, a new certificate without a restart, and clients without TLS", async (t) => {
  const folder = temporaryFolder(t);
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  const [first, second] = [makeCertificate("first"), makeCertificate("second")];
  const ca = [first.cert, second.cert];
  writeFileSync(certFile, first.cert);
  writeFileSync(keyFile, first.key, { mode: 0o600 });
  const logged: string[] = [];
  const say = (_fields: object, message: string): void => void logged.push(message);
  const log = { info: say, warn: say, error: say, debug: say };
  const server = await listen({
    ...{ host: "127.0.0.1", port: 0, socketPath: "/ws", log, tls: { certFile, keyFile, log, checkEveryMs: 20 } },
    proxies: new TrustedProxies(["127.0.0.1"]),
    onCall: (call) => call.reply(200, JSON.stringify({ from: call.remoteAddress(), body: call.body.length })),
    sockets: {
      ...{ admit() {}, control() {}, drain() {}, close() {} },
      open: (socket) => socket.subscribe("news"),
      message: (socket, bytes) => socket.send(`echo ${Buffer.from(bytes)}`),
    },
  });
  t.after(() => server.close());

  const open = async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
    const socket = connect({ port: server.port, host: "127.0.0.1", ca, ...options });
    await once(socket, "secureConnect");
    return socket;
  };
  const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN);
  const ask = async (socket: TLSSocket, text: string): Promise<string> => {
    let answer = "";
    const onData = (bytes: Buffer) => (answer += bytes);
    socket.on("data", onData).write(text);
    await until("the answer", () => answer.endsWith("}"));
    socket.off("data", onData);
    return answer;
  };
  const body = "x".repeat(1 << 16);
  const post = `POST /a HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.7\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

  const kept = await open();
  assert.deepEqual([nameOf(kept), kept.getProtocol()], ["first", "TLSv1.3"]);
  assert.match(await ask(kept, post), /^HTTP\/1\.1 200 [\s\S]*"from":"203.0.113.7","body":65536}$/);
  const earlier = await open({ maxVersion: "TLSv1.2" });
  assert.equal(earlier.getProtocol(), "TLSv1.2");
  earlier.destroy();
  const old: ConnectionOptions = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
  await assert.rejects(open(old), /protocol version/);
  const plain = await sendAstray(server.port, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  assert.doesNotMatch(plain.text, /^HTTP/);

  const sockets: WebSocket[] = [];
  const openSocket = async (): Promise<{ texts: string[] }> => {
    const socket = new WebSocket(`wss://localhost:${server.port}/ws`, { ca });
    const texts: string[] = [];
    socket.on("message", (data) => texts.push(String(data)));
    await once(socket, "open");
    sockets.push(socket);
    socket.send("hello");
    await until("the echo", () => texts.includes("echo hello"));
    return { texts };
  };
  const before = await openSocket();

  // A key that does not fit changes nothing.
  writeFileSync(certFile, second.cert);
  await until("the refusal of half a pair", () => logged.some((line) => line.includes("cannot be used")));
  assert.equal(nameOf(await open()), "first");
  writeFileSync(keyFile, second.key);
  await until("the new certificate", () => logged.some((line) => line.includes("is in use;")));
  const after = await open();
  assert.equal(nameOf(after), "second");
  assert.match(await ask(after, post), /^HTTP\/1\.1 200 /);
  assert.match(await ask(kept, post), /^HTTP\/1\.1 200 /, "an open connection goes on");
  const later = await openSocket();
  server.publish("news", "to all");
  await until("news on both", () => before.texts.includes("to all") && later.texts.includes("to all"));

  const codes = Promise.all(sockets.map(async (socket) => (await once(socket, "close"))[0]));
  await server.close();
  assert.deepEqual(await codes, [1001, 1001]);
  await assert.rejects(open());
});
