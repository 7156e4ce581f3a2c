import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Api } from "../support/api.ts";
import { openKey, signed } from "../support/keys.ts";
import { OPERATOR_TOKEN, startServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader } from "../support/trader.ts";

/** Every form in which 32 bytes or their text may lie somewhere. */
function formsOf(secret: string): Buffer[] {
  const texts = [secret, secret.toUpperCase(), Buffer.from(secret).toString("base64url").slice(0, -1)];
  const isHex = /^[0-9a-f]{64}$/.test(secret);
  return [...texts.map((text) => Buffer.from(text)), Buffer.from(secret, isHex ? "hex" : "base64url")];
}

test("tokens and API secrets are neither on disk nor in the logs in plain form, and only the owner can read the files", async (t) => {
  process.umask(0); // the server inherits it
  const server = await startServer({ environment: { PERPD_LOG_LEVEL: "trace", PERPD_SNAPSHOT_INTERVAL_MS: "50" } });
  t.after(() => server.dispose());
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server);
  const holder = await openKey(server, alice, ["READ", "TRADE"]);
  await holder.get("/account/balance");
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.001" };
  await holder.call(201, "POST", "/orders", order);
  const token = alice.token ?? "";
  const { apiKey, secret } = holder.key;
  // Where they do not belong, too: in paths, queries, bodies, other headers, other ops.
  const nobody = new Api(server.url);
  for (const stray of [token, secret]) {
    await nobody.request("GET", `/${stray}?token=${stray}`);
    await nobody.request("POST", "/orders", { ...order, [stray]: stray }, { authorization: `Bearer ${token}` });
    await nobody.request("GET", "/orders", undefined, { authorization: stray, "x-api-key": stray });
    await nobody.request("DELETE", `/auth/keys/${stray}`, undefined, { authorization: `Bearer ${token}` });
  }
  await nobody.request("GET", "/orders", undefined, signed({ apiKey, secret: token }, "GET", "/orders"));
  for (const stray of [token, secret, OPERATOR_TOKEN]) {
    await nobody.request("POST", `/operator/symbols/${stray}/halt?token=${stray}`, { token: stray });
    await new Api(server.url, `${stray}x`).request("GET", "/operator/audit");
  }
  const socket = await SocketClient.open(server.wsUrl);
  await socket.request("auth", { token });
  await socket.request("auth", { token: secret });
  await socket.request(token, { [secret]: secret });
  await socket.close();
  assert.equal((await server.stop()).code, 0);

  const logs = Buffer.from(server.stderr + server.stdout);
  assert.ok(logs.includes("stopped"), "there are logs");
  assert.match(server.stderr, /"address":"127\.0\.0\.1","method":"GET","path":"\/operator\/audit"/);
  const files = readdirSync(server.dataFolder, { recursive: true, encoding: "utf8" })
    .map((name) => join(server.dataFolder, name))
    .filter((path) => statSync(path).isFile());
  const onDisk = new Map(files.map((path) => [path, readFileSync(path)]));
  const anywhere = (bytes: Buffer) =>
    [...onDisk].filter(([, content]) => content.includes(bytes)).map(([path]) => path);
  assert.ok(anywhere(Buffer.from(apiKey)).length > 0, "the key itself is there");
  for (const kept of [token, secret])
    for (const form of formsOf(kept)) {
      assert.ok(form.length >= 20);
      assert.deepEqual(anywhere(form), []);
      assert.ok(!logs.includes(form), "it was logged");
    }
  const operator = Buffer.from(OPERATOR_TOKEN);
  assert.deepEqual(anywhere(operator), []);
  assert.ok(!logs.includes(operator));
  for (const path of [server.dataFolder, join(server.dataFolder, "log"), join(server.dataFolder, "database"), ...files])
    assert.equal(statSync(path).mode & 0o077, 0, `${path} can be read by others`);
});
