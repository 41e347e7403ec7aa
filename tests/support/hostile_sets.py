#!/usr/bin/env python3
"""hostile_sets.py DIR: writes one change set for each attack, under a valid
file name; the id names the attack. Sets whose id begins with "fine-" are
harmless and must be accepted."""
import gzip
import io
import lzma
import os
import sys
import tarfile

NAME = '_@4000000060000000%08x_1_host_%s'


class Set:
    def __init__(self, form=tarfile.GNU_FORMAT):
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode='w', format=form)

    def add(self, name, text=b'x\n', **more):
        info = tarfile.TarInfo(name)
        info.size = len(text)
        for key, value in more.items():
            setattr(info, key, value)
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            info.size = 0
        self.tar.addfile(info, io.BytesIO(text))
        return self

    def meta(self, files=('a',), kind='DC', target='main', more=''):
        text = f'##movetype\n{kind}\n##target\n{target}\n##files\n'
        text += ''.join(f'{name}\n' for name in files) + more
        return self.add('meta', text.encode('utf-8', 'surrogateescape'))

    def done(self):
        self.tar.close()
        return self.bytes.getvalue()


def plain(name, files=None, **more):
    return Set().meta([name] if files is None else files) \
        .add('lroot/' + name, **more).done()


def meta_of(text):
    return Set().add('meta', text).add('lroot/a').done()


def pax(path):
    made = Set(tarfile.PAX_FORMAT).meta()
    info = tarfile.TarInfo('lroot/a')
    info.pax_headers = {'path': path}
    made.tar.addfile(info, io.BytesIO(b''))
    return made.done()


def linked(kind, target):
    return plain('a', type=kind, linkname=target)


def through_link():
    return Set().meta(['d', 'd/a']) \
        .add('lroot/d', type=tarfile.SYMTYPE, linkname='../../..') \
        .add('lroot/d/a').done()


GOOD = plain('fine')
HEAD = '##movetype\nDC\n##target\nmain\n##files\na\n'
LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE

ATTACKS = {
    'fine-plain': GOOD,
    'fine-gz': gzip.compress(plain('fine-gz')),
    'fine-xz': lzma.compress(plain('fine-xz')),
    'fine-setuid': plain('fine-setuid', mode=0o6755),
    'fine-unknown-section': Set().meta(
        ['fine-section'], more='##colour\nred\n').add('lroot/fine-section')
    .done(),
    # paths and types of the members
    'dotdot': plain('../../escaped'),
    'dotdot-inside': plain('d/../a'),
    'absolute': Set().meta(['/escaped']).add('/escaped').done(),
    'absolute-below': plain('/escaped'),
    'dot': plain('./a'),
    'slashes': plain('d//a'),
    'outside': Set().meta().add('lroot/a').add('elsewhere').done(),
    'pax-dotdot': pax('lroot/../../escaped'),
    'pax-absolute': pax('/escaped'),
    'pax-nul': pax('lroot/a\0b'),
    'symlink-out': linked(LINK, '../../../etc/passwd'),
    'symlink-absolute': linked(LINK, '/etc/passwd'),
    'symlink-inside': linked(LINK, 'b'),
    'hardlink': linked(HARD, 'lroot/b'),
    'hardlink-out': linked(HARD, '/etc/passwd'),
    'through-link': through_link(),
    'fifo': linked(tarfile.FIFOTYPE, ''),
    'chardev': linked(tarfile.CHRTYPE, ''),
    'blockdev': linked(tarfile.BLKTYPE, ''),
    'duplicate': Set().meta().add('lroot/a').add('lroot/a', b'y').done(),
    'file-and-dir': Set().meta(['a', 'a/b']).add('lroot/a').add('lroot/a/b')
    .done(),
    'git': plain('.git/hooks/post-update'),
    'git-case': plain('sub/.GiT/config'),
    'git-ntfs': plain('git~1/config'),
    'git-dots': plain('.git./config'),
    'git-space': plain('.git /config'),
    'git-zero-width': plain('.g\u200cit/config'),
    'line-feed': plain('a\nb', files=['a']),
    'long-component': plain('c' * 256),
    'deep': plain('/'.join('d' * 65)),
    'long-path': plain('/'.join(['p' * 200] * 21)),
    # the archive
    'nothing': b'',
    'zeros': bytes(10240),
    'junk': bytes((i * 7919 + 13) % 256 for i in range(65536)),
    'text': b'#!/bin/sh\nexit 0\n',
    'gz-junk': gzip.compress(os.urandom(4096)),
    'gz-cut': gzip.compress(plain('a'))[:-9],
    'xz-cut': lzma.compress(plain('a'))[:-5],
    'cut-header': plain('a')[:700],
    'cut-body': plain('a', text=b'x' * 9000)[:4000],
    'no-end': plain('a', text=b'x' * 512)[:2560],
    'garbage': GOOD + b'and more' * 100,
    'second-archive': GOOD + GOOD,
    'bomb': gzip.compress(plain('a', text=bytes(64 << 20))),
    'zip': b'PK\x03\x04' + bytes(100),
    'cpio': b'070701' + b'0' * 104 + b'a\0' + bytes(20),
    'checksum': GOOD[:150] + b'999' + GOOD[153:],
    # meta
    'no-meta': Set().add('lroot/a').done(),
    'two-metas': Set().meta().meta().add('lroot/a').done(),
    'meta-dir': Set().add('meta', type=tarfile.DIRTYPE).add('lroot/a').done(),
    'meta-link': Set().add('meta', type=LINK, linkname='/etc/passwd')
    .add('lroot/a').done(),
    'meta-huge': meta_of(HEAD.encode() + b'x\n' * (1 << 20)),
    'meta-empty': meta_of(b''),
    'meta-binary': meta_of(bytes(range(256)) * 16),
    'meta-nul': meta_of(HEAD.encode() + b'\0\n'),
    'meta-latin1': meta_of(HEAD.encode() + b'\xe4\n'),
    'meta-before': meta_of(b'hello\n' + HEAD.encode()),
    'fine-meta-crlf': meta_of(HEAD.replace('\n', '\r\n').encode() + b'\r\n'),
    'no-movetype': meta_of(b'##target\nmain\n##files\na\n'),
    'two-movetypes': meta_of(HEAD.encode() + b'##movetype\nDC\n'),
    'other-movetype': Set().meta(kind='EM').add('lroot/a').done(),
    'strange-movetype': Set().meta(kind='XX').add('lroot/a').done(),
    'fine-no-target': Set().add(
        'meta', b'##movetype\nDC\n##files\nno-target\n')
    .add('lroot/no-target').done(),
    'unknown-target': Set().meta(target='elsewhere').add('lroot/a').done(),
    'strange-target': Set().meta(target='../../x').add('lroot/a').done(),
    'file-missing': Set().meta(['a', 'b']).add('lroot/a').done(),
    'file-unlisted': Set().meta(['a']).add('lroot/a').add('lroot/b').done(),
    'empty': Set().add('meta', HEAD[:-2].encode()).done(),
    'deleted-dotdot': Set().meta(more='##deleted\n../x\n').add('lroot/a')
    .done(),
    'deleted-and-put': Set().meta(more='##deleted\na\n').add('lroot/a').done(),
    'itself': Set().meta(more='##dependencies\nitself\n').add('lroot/a')
    .done(),
    'strange-dependency': Set().meta(more='##dependencies\n../x\n')
    .add('lroot/a').done(),
    'strange-base': Set().meta(more='##base\n--help\n').add('lroot/a').done(),
    'strange-base-tree': Set().meta(
        more='##dependencies\nC1\n##base-set\nC1\n##base-tree\n--help\n')
    .add('lroot/a').done(),
    'strange-base-set': Set().meta(
        more='##dependencies\nC1\n##base-set\n../C1\n##base-tree\n'
        + 40 * '0' + '\n').add('lroot/a').done(),
    'base-set-alone': Set().meta(
        more='##dependencies\nC1\n##base-set\nC1\n').add('lroot/a').done(),
    'base-tree-alone': Set().meta(more='##base-tree\n' + 40 * '0' + '\n')
    .add('lroot/a').done(),
    'base-set-no-dependency': Set().meta(
        more='##base-set\nC1\n##base-tree\n' + 40 * '0' + '\n')
    .add('lroot/a').done(),
    'base-set-itself': Set().meta(
        more='##dependencies\nbase-set-itself\n##base-set\n'
        'base-set-itself\n##base-tree\n' + 40 * '0' + '\n')
    .add('lroot/a').done(),
    'two-base-sets': Set().meta(
        more='##dependencies\nC1\nC2\n##base-set\nC1\nC2\n##base-tree\n'
        + 40 * '0' + '\n').add('lroot/a').done(),
    'strange-author': Set().meta(more='##author\nnobody\n').add('lroot/a')
    .done(),
    'strange-date': Set().meta(more='##date\nyesterday\n').add('lroot/a')
    .done(),
    'unknown-superseded': Set().meta(more='##supersedes\nnobody\n')
    .add('lroot/a').done(),
}

for number, (attack, content) in enumerate(ATTACKS.items()):
    with open(sys.argv[1] + '/' + attack + NAME % (number, 'DC'),
              'wb') as file:
        file.write(content)
