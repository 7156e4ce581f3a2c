import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader } from "../support/trader.ts";

/** Five client generators and two linters. They are large, so they are not installed with perpd. */
const FOLDER = fileURLToPath(new URL("../../../../test/generators/", import.meta.url));
const OUT = join(FOLDER, "out");
const SKIP: string | false = existsSync(join(FOLDER, "node_modules"))
  ? false
  : "the generators are not installed: `npm ci --prefix test/generators` installs them";

const run = promisify(execFile);
const tool = (name: string): string => join(FOLDER, "node_modules", name);
/** Resolves with the standard output. Rejects when the program fails. */
const node = async (script: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string> => {
  const options = { cwd: OUT, env: { ...process.env, ...environment }, maxBuffer: 1 << 26 };
  return (await run(process.execPath, [script, ...args], options)).stdout;
};

/** Each generator writes its client into the folder or file of its name. The driver of the same name trades with it. */
const GENERATORS: Readonly<Record<string, readonly [script: string, ...args: string[]]>> = {
  "openapi-typescript": ["openapi-typescript/bin/cli.js", "openapi.json", "-o", "openapi-typescript.ts"],
  "hey-api": ["@hey-api/openapi-ts/bin/run.js", "-i", "openapi.json", "-o", "hey-api", "-c", "@hey-api/client-fetch"],
  "swagger-typescript-api": [
    "swagger-typescript-api/dist/cli.mjs",
    ...["generate", "-p", "openapi.json", "-o", "swagger-typescript-api", "-n", "api.ts"],
  ],
  orval: ["orval/dist/bin/orval.js", "--input", "openapi.json", "--output", "orval/api.ts", "--client", "fetch"],
  "openapi-typescript-codegen": [
    "openapi-typescript-codegen/bin/index.js",
    ...["--input", "openapi.json", "--output", "openapi-typescript-codegen", "--client", "fetch"],
  ],
};

interface SpectralProblem {
  code: string;
  path: (string | number)[];
}

let server: TestServer;

before(async () => {
  if (SKIP !== false) return;
  server = await startServer();
  await new Operator(server).setIndex("BTC-PERP", "65000");
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT);
  for (const name of ["openapi.json", "asyncapi.json"])
    writeFileSync(join(OUT, name), await (await fetch(`${server.url}/${name}`)).text());
});

after(async () => {
  await server?.dispose();
  rmSync(OUT, { recursive: true, force: true });
});

test("Redocly and Spectral find only what is meant so", { skip: SKIP }, async () => {
  const redocly = await node(tool("@redocly/cli/bin/cli.js"), ["lint", "openapi.json", "--format", "json"]);
  const { problems } = JSON.parse(redocly) as { problems: { ruleId: string; location: { pointer: string }[] }[] };
  // A WebSocket's handshake succeeds with 101.
  assert.deepEqual(
    problems.map(({ ruleId, location }) => [ruleId, location[0]?.pointer]),
    [["operation-2xx-response", "#/paths/~1ws/get/responses"]],
  );

  writeFileSync(join(OUT, "rules.yaml"), 'extends: ["spectral:oas", "spectral:asyncapi"]\n');
  const lint = async (file: string): Promise<string[]> => {
    const args = ["lint", file, "--ruleset", "rules.yaml", "--format", "json", "--quiet"];
    const found = JSON.parse(await node(tool("@stoplight/spectral-cli/dist/index.js"), args)) as SpectralProblem[];
    return found.map(({ code, path }) => `${code} ${path.join(".")}`);
  };
  assert.deepEqual(await lint("openapi.json"), ["operation-success-response paths./ws.get.responses"]);
  // Only the operator of an exchange could name an address.
  assert.deepEqual(await lint("asyncapi.json"), ["asyncapi-info-contact-properties info.contact"]);
});

test("clients that five generators wrote compile, and trade", { skip: SKIP }, async (t: TestContext) => {
  for (const [name, [script, ...args]] of Object.entries(GENERATORS))
    await t.test(`${name} generates`, async () => void (await node(tool(script), args)));
  await t.test("all of it compiles, with programs that use it", async () => {
    await node(tool("typescript/bin/tsc"), ["-p", ".."]).catch(({ stdout, message }) => assert.fail(stdout || message));
  });
  const { token } = await openTrader(server);
  for (const name of Object.keys(GENERATORS))
    await t.test(`${name} trades`, async () => {
      const bundle = `${name}-driver.mjs`;
      const options = ["--bundle", "--platform=node", "--format=esm", `--outfile=${bundle}`, "--log-level=warning"];
      await run(tool("../../../node_modules/.bin/esbuild"), [`../drivers/${name}.ts`, ...options], { cwd: OUT });
      await node(join(OUT, bundle), [], { EXCHANGE_URL: server.url, EXCHANGE_TOKEN: token });
    });
});
