/** The scenarios of all suites, as web/scenarios.py wrote them: an index, and the texts of a suite when one of them is opened. */

export type Case = { id: string; description: string; duration_s: number; reference?: string };
export type Section = { heading: string; question: string; cases: readonly Case[] };
export type Suite = { name: string; heading: string; sections: readonly Section[] };

let index: Promise<readonly Suite[]> | undefined;
const texts = new Map<string, Promise<Record<string, string>>>();

export function suites(): Promise<readonly Suite[]> {
  index ??= fetched<readonly Suite[]>("scenarios/index.json").catch((error: unknown) => {
    index = undefined;
    throw error;
  });
  return index;
}

/** The scenario file of a case. */
export async function textOf(suite: string, id: string): Promise<string> {
  let file = texts.get(suite);
  if (!file) {
    file = fetched<Record<string, string>>(`scenarios/${suite}.json`);
    texts.set(suite, file);
    file.catch(() => texts.delete(suite));
  }
  const text = (await file)[id];
  if (text === undefined) throw new Error(`${id}: not in scenarios/${suite}.json`);
  return text;
}

/** Suites with only the sections and cases in which every word is found; all without words. */
export function matching(all: readonly Suite[], words: string): Suite[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [...all];
  return all.flatMap((suite) => {
    const sections = suite.sections.flatMap((section) => {
      const around = `${suite.name} ${section.heading} ${section.question}`;
      const cases = section.cases.filter(({ id, description }) => {
        const place = `${around} ${id} ${description}`.toLowerCase();
        return wanted.every((word) => place.includes(word));
      });
      return cases.length > 0 ? [{ ...section, cases }] : [];
    });
    return sections.length > 0 ? [{ ...suite, sections }] : [];
  });
}

export function count(suite: Suite): number {
  return suite.sections.reduce((sum, { cases }) => sum + cases.length, 0);
}

async function fetched<T>(path: string): Promise<T> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return (await response.json()) as T;
}
