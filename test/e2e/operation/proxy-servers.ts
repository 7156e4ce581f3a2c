import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { makeCertificate } from "../support/certificate.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/wait.ts";

const PAGE = fileURLToPath(new URL("../../../../docs/operating/proxy.md", import.meta.url));

export interface RunningProxy {
  readonly port: number;
  /** The certificate that it shows. */
  readonly ca: string;
  stop(): Promise<void>;
}

export const isInstalled = (program: string): boolean => spawnSync(program, ["-v"]).error === undefined;

/** The configuration of docs/operating/proxy.md with other addresses and files. Throws if it has none of an `original`. */
function documented(language: string, changes: [original: string, replacement: string][]): string {
  const text = readFileSync(PAGE, "utf8");
  const block = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "m").exec(text)?.[1] ?? "";
  return changes.reduce((changed, [original, replacement]) => {
    if (!changed.includes(original)) throw new Error(`${language} in ${PAGE} has no "${original}"`);
    return changed.replaceAll(original, replacement);
  }, block);
}

/** Runs the real nginx or HAProxy before the exchange at `backendPort`, configured as the page says. */
export async function startProxy(program: "nginx" | "haproxy", backendPort: number): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), `perpd-${program}-`));
  const port = await freePort();
  const { cert, key } = makeCertificate(program);
  const [certFile, keyFile, bothFile] = ["tls.crt", "tls.key", "tls.pem"].map((name) => join(folder, name));
  writeFileSync(certFile as string, cert);
  writeFileSync(keyFile as string, key);
  writeFileSync(bothFile as string, cert + key);
  const file = join(folder, "configuration");
  const backend: [string, string] = ["127.0.0.1:8080", `127.0.0.1:${backendPort}`];
  if (program === "nginx") {
    const block = documented("nginx", [
      backend,
      ["listen 443 ssl http2", `listen 127.0.0.1:${port} ssl http2`],
      ["/etc/ssl/perpd.crt", certFile as string],
      ["/etc/ssl/perpd.key", keyFile as string],
    ]);
    const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    mkdirSync(join(folder, "tmp"));
    const paths = kinds.map((kind) => `${kind}_temp_path ${join(folder, "tmp", kind)};`).join("\n");
    // Otherwise root's workers become another user, who may not write long replies into the folder.
    const user = process.getuid?.() === 0 ? "user root;\n" : "";
    const main = `${user}daemon off;\nworker_processes 1;\npid ${join(folder, "pid")};\nerror_log stderr;\nevents {}\n`;
    writeFileSync(file, `${main}http {\naccess_log off;\n${paths}\n${block}}\n`);
  } else {
    const bind: [string, string] = [
      "bind :443 ssl crt /etc/ssl/perpd.pem",
      `bind 127.0.0.1:${port} ssl crt ${bothFile}`,
    ];
    writeFileSync(file, documented("haproxy", [backend, bind]));
  }
  const args = program === "nginx" ? ["-e", "stderr", "-p", folder, "-c", file] : ["-db", "-f", file];
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  const stop = async (): Promise<void> => {
    await stopChild(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await listens(child, port, cert);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, ca: cert, stop };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

async function listens(child: ChildProcess, port: number, ca: string): Promise<void> {
  let output = "";
  child.stderr?.on("data", (text) => (output += text));
  await until("the proxy to listen", async () => {
    if (child.exitCode !== null) throw new Error(`the proxy ended: ${output}`);
    const socket = connect({ port, host: "127.0.0.1", ca });
    const isOpen = await new Promise((resolve) => {
      socket.once("secureConnect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    return isOpen;
  });
}
