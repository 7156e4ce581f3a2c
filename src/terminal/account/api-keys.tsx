import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { ApiKeyList, CreatedApiKey, NewApiKey } from "../../client/types.ts";
import { Dialog } from "../dialogs/dialog.tsx";
import { TextField } from "../dialogs/text-field.tsx";
import { account, accountClient } from "../state/account.ts";
import { refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { dayAndClock, words } from "../text/format.ts";

export const areKeysOpen = signal(false);

export function ApiKeysDialog() {
  return areKeysOpen.value && account.value !== null ? <ApiKeys /> : null;
}

type Permission = NewApiKey["permissions"][number];
const PERMISSIONS: readonly Permission[] = ["READ", "TRADE", "WITHDRAW"];

/** Lists, creates and revokes API keys. A secret is shown once. */
function ApiKeys() {
  const [keys, setKeys] = useState<ApiKeyList["data"]>([]);
  const [label, setLabel] = useState("");
  const [chosen, setChosen] = useState<readonly Permission[]>(["READ", "TRADE"]);
  const [created, setCreated] = useState<CreatedApiKey | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const run = async (action: (client: NonNullable<typeof accountClient.value>) => Promise<unknown>): Promise<void> => {
    const client = accountClient.peek();
    if (client === null) return;
    try {
      await action(client);
      setKeys((await client.keys()).data);
      setFault(null);
    } catch (error) {
      setFault(refusalText(error));
    }
  };
  useEffect(() => void run(async () => {}), []);
  const create = () =>
    run(async (client) => {
      setCreated(await client.createKey({ label, permissions: [...chosen] }, account.peek()?.sign));
      setLabel("");
    });
  return (
    <Dialog title={text.apiKeys} onClose={() => (areKeysOpen.value = false)}>
      {keys.length === 0 && <p class="note">{text.noKeys}</p>}
      <ul class="keys" aria-label={text.apiKeys}>
        {keys.map(({ apiKey, label, permissions, createdAt }) => (
          <li key={apiKey}>
            <span>
              <strong>{label}</strong> <span class="muted">{permissions.map(words).join(", ")}</span>
              <br />
              <code>{apiKey}</code> <span class="muted">{dayAndClock(createdAt)}</span>
            </span>
            <button type="button" class="mini" onClick={() => void run((client) => client.revokeKey(apiKey))}>
              {text.revoke}
              <span class="hidden"> {label}</span>
            </button>
          </li>
        ))}
      </ul>
      {created !== null && (
        <p class="secret" role="status">
          {text.secretOnce} <code>{created.secret}</code>
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <TextField label={text.keyLabel} value={label} onChange={setLabel} />
        <div class="option-row" role="group" aria-label={text.permissions}>
          {PERMISSIONS.map((each) => (
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.includes(each)}
                onChange={({ currentTarget: { checked } }) =>
                  setChosen(PERMISSIONS.filter((other) => (other === each ? checked : chosen.includes(other))))
                }
              />
              {words(each)}
            </label>
          ))}
        </div>
        {fault !== null && (
          <p class="note bad" role="alert">
            {fault}
          </p>
        )}
        <button type="submit" class="big accent" disabled={label === "" || chosen.length === 0}>
          {text.createKey}
        </button>
      </form>
    </Dialog>
  );
}
