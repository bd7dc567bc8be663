// Runs before all tests: makes the evaluations, a server over them, and their reports, in build/browser.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';

export const root = new URL('../../', import.meta.url).pathname;
export const build = `${root}build/browser/`;
export const samples = `${build}samples/`;
const xsp = `${root}build/release/bin/xsp`;

// An error contains the program's error stream.
const run = (...words: string[]) =>
  execFileSync(xsp, words, { stdio: ['ignore', 'ignore', 'pipe'] });

// A file is made anew after every build of xsp, which holds the page.
const isFresh = (path: string) =>
  existsSync(path) && statSync(path).mtimeMs >= statSync(xsp).mtimeMs;

function makeReport(name: string, ...files: string[]) {
  if (!isFresh(build + name)) run('report', ...files, '-o', build + name);
}

// The GPU's evaluation was recorded on an H200. The CPU's, and that of a watched program, are measured here,
// once.
function makeSamples() {
  mkdirSync(`${samples}gpu`, { recursive: true });
  const archive = `${root}tests/data/gpu/h200_resnet50.tar.xz`;
  execFileSync('tar', ['-xf', archive, '-C', `${samples}gpu`]);
  const cpu = `${samples}cpu.xsp`;
  if (!isFresh(cpu)) {
    const levels = ['--levels', 'model,layer', '--batch', '1,2', '--max-time', '8'];
    run('profile', 'mobilenet_v2', ...levels, '-o', cpu);
  }
  const watched = `${samples}watched.xsp`;
  const program = ['/usr/bin/python3', `${root}tests/browser/watched.py`];
  if (!isFresh(watched)) run('run', '--quiet', '-o', watched, '--', ...program);
  const load = `${build}load.xsp`;
  if (!isFresh(load)) {
    const bound = ['--rate', '300', '--requests', '300', '--bound', 'p99=100ms'];
    run(
      'evaluate',
      'fake:layers=2,us=200,wait=sleep',
      '--scenario',
      'server',
      ...bound,
      '-o',
      load,
    );
  }
  writeFileSync(`${samples}broken.xsp`, 'this is no database');
}

export default async function setup() {
  rmSync(`${build}failures`, { recursive: true, force: true });
  makeSamples();
  const gpu = `${samples}gpu/h200_resnet50.xsp`;
  makeReport('both.html', `${samples}cpu.xsp`, gpu);
  makeReport('watched.html', `${samples}watched.xsp`);
  makeReport('one.html', gpu);
  makeReport('load.html', `${build}load.xsp`);
  const server = spawn(xsp, ['serve', samples, '--listen', '127.0.0.1:0']);
  const address = await new Promise<string>((found, failed) => {
    let said = '';
    server.stderr.on('data', (piece) => {
      said += String(piece);
      const at = / at (http:\S+)/.exec(said);
      if (at) found(at[1] as string);
    });
    server.on('exit', () => failed(new Error(`xsp serve ended: ${said}`)));
  });
  process.env['XSP_ADDRESS'] = address;
  return () => void server.kill();
}
